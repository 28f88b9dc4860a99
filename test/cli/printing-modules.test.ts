import { expect, test } from 'vitest';
import { startCli } from './cli-process.ts';

/** No server listens at this address. */
const NOWHERE = '127.0.0.1:1';

test.for([
  ['doctor', '--agents', 'test/cli/fixtures/printing-agents.ts'],
  ['check', 'test/cli/fixtures/printing-agents.ts'],
])("output of a user's module does not mix with the JSON of a command: %j", async (command) => {
  const cli = startCli([...command, '--json'], { TEMPORAL_ADDRESS: NOWHERE });
  await cli.ended;
  const lines = cli.stdout().trim().split('\n');
  expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => 'object'));
  expect(cli.stderr()).toContain('printed when it is loaded');
  expect(cli.stderr()).toContain('written when it is loaded');
});
