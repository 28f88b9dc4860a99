import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ALL_RAN,
  type ConsumerProject,
  help,
  INSTALL_TIMEOUT_MS,
  installedProject,
  runAgents,
  runTests,
  typeCheck,
} from './consumer-project.ts';

let project: ConsumerProject;

beforeAll(async () => {
  project = await installedProject();
}, INSTALL_TIMEOUT_MS);

afterAll(() => project.remove());

test('a project that installs the package type-checks against it', async () => {
  expect(await typeCheck(project)).toEqual({ stdout: '', stderr: '' });
});

test('a project that installs the package runs agents from its own workflow and replays their histories', async () => {
  expect(await runAgents(project)).toEqual(ALL_RAN);
});

test('a project that installs the package tests its agents', async () => {
  expect(await runTests(project)).toMatch(/^# pass 1$/m);
});

test('a project that installs the package has its binary', async () => {
  expect(await help(project, 'node_modules/.bin/longhaul')).toContain('Usage: longhaul');
});
