import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_RAN, borrowingProject, type ConsumerProject, help, runAgents, runTests, typeCheck } from './consumer-project.ts';

let project: ConsumerProject;

beforeAll(async () => {
  project = await borrowingProject();
});

afterAll(() => project.remove());

test('a project that has the packed package type-checks against it', async () => {
  expect(await typeCheck(project)).toEqual({ stdout: '', stderr: '' });
});

test('a project that has the packed package runs agents from its own workflow and replays their histories', async () => {
  expect(await runAgents(project)).toEqual(ALL_RAN);
});

test('a project that has the packed package tests its agents', async () => {
  expect(await runTests(project)).toMatch(/^# pass 1$/m);
});

test('a project that has the packed package has its command line', async () => {
  expect(await help(project, 'node_modules/longhaul/dist/src/cli/main.js')).toContain('Usage: longhaul');
});
