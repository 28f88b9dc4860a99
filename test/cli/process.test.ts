import { test } from 'vitest';
import { startCli } from './cli-process.ts';

/** No server listens at this address. */
const NOWHERE = '127.0.0.1:1';

test.concurrent('a server that does not answer is one line on stderr and exit code 7', async ({ expect }) => {
  const cli = startCli(['show', 'some-run', '--address', NOWHERE]);
  expect(await cli.ended).toBe(7);
  expect(cli.stdout()).toBe('');
  expect(cli.stderr()).toMatch(/^longhaul: No Temporal server answers at "127\.0\.0\.1:1" .*: start one with "npx longhaul dev".*\n$/);
});

test.concurrent("a worker reports the same, before it has loaded the SDK's worker", async ({ expect }) => {
  const cli = startCli(['worker', '--agents', 'test/cli/fixtures/scripted-agents.ts', '--address', NOWHERE]);
  expect(await cli.ended).toBe(7);
  expect(cli.stderr().trim().split('\n')).toHaveLength(1);
});

test.concurrent('if the reader of stdout goes away, the command ends without an error', async ({ expect }) => {
  const cli = startCli(['--help']);
  cli.child.stdout?.destroy();
  expect(await cli.ended).toBe(0);
  expect(cli.stderr()).toBe('');
});
