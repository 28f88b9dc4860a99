import { expect, test } from 'vitest';
import { chosenVersioning } from '../../../src/cli/options.ts';
import { callCli } from '../call-cli.ts';

test('a deployment, a build and a behavior make the version of the worker', () => {
  expect(chosenVersioning({ deployment: 'answers', buildId: 'abc', versioning: 'auto-upgrade' })).toEqual({
    deploymentName: 'answers',
    buildId: 'abc',
    behavior: 'AUTO_UPGRADE',
  });
  expect(chosenVersioning({})).toBeUndefined();
});

test('one of them alone is a usage error, and nothing is loaded', async () => {
  const { exitCode, stderr } = await callCli(['worker', '--agents', 'nowhere.ts', '--build-id', 'abc']);
  expect(stderr).toContain('--deployment, --build-id and --versioning go together');
  expect(exitCode).toBe(2);
});

test('an invalid behavior is a usage error', async () => {
  const { exitCode, stderr } = await callCli(['worker', '--agents', 'nowhere.ts', '--versioning', 'sometimes']);
  expect(stderr).toContain('Allowed choices are pinned, auto-upgrade, upgrade-on-continue-as-new');
  expect(exitCode).toBe(2);
});
