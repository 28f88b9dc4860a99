import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ALL_RAN,
  type ConsumerProject,
  help,
  INSTALL_TIMEOUT_MS,
  installedProject,
  pretendVersion,
  runAgents,
  runTests,
  sdkVersions,
  startError,
  typeCheck,
} from './consumer-project.ts';

const versions = await sdkVersions();

describe.each(versions)("with Temporal's SDK at %s, a project that installs the package", (sdk) => {
  let project: ConsumerProject;

  beforeAll(async () => {
    project = await installedProject(sdk);
  }, INSTALL_TIMEOUT_MS);

  afterAll(() => project.remove());

  test('type-checks against it', async () => {
    expect(await typeCheck(project)).toEqual({ stdout: '', stderr: '' });
  });

  test('runs agents from its own workflow and replays their histories', async () => {
    expect(await runAgents(project)).toEqual(ALL_RAN);
  });

  test('tests its agents', async () => {
    expect(await runTests(project)).toMatch(/^# pass 1$/m);
  });

  test('has its binary', async () => {
    expect(await help(project, 'node_modules/.bin/longhaul')).toContain('Usage: longhaul');
  });

  // This test is the last one: it makes the project useless.
  test('reports versions of the SDK that do not match', async () => {
    await pretendVersion(project, '@temporalio/client', '1.999.0');
    expect(await startError(project)).toContain(`@temporalio/client 1.999.0, @temporalio/common ${sdk}`);
  });
});
