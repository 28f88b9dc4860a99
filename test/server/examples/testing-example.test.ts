import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test("the tests of the README's example pass under another test runner", async () => {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: inject('temporalNamespace'),
  };
  // With this variable set, it would report to the parent of this test runner.
  delete env['NODE_TEST_CONTEXT'];
  const args = ['--test', '--test-reporter=tap', 'examples/testing/shop.test.ts'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
  expect(stdout).toMatch(/^# pass 3$/m);
  expect(stdout).toMatch(/^# fail 0$/m);
});
