import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSaved } from '../../../src/cli/commands/records.ts';
import { toSavedContext } from '../../../src/core/saved/saved-context.ts';
import { callCli } from '../call-cli.ts';
import { commandIo } from '../command-io.ts';

const saved = toSavedContext({ messages: [{ role: 'user', content: 'hi' }], agent_name: 'clerk' });
const run = { runId: 'clerk-1', save: () => Promise.resolve(saved) };

test('a saved context is printed as one document, with the number of messages on stderr', async () => {
  const { io, stdout, stderr } = commandIo();
  expect(await writeSaved(io, run, undefined)).toBe(0);
  expect(stdout()).toBe(`${JSON.stringify(saved, null, 2)}\n`);
  expect(stderr()).toBe('Run "clerk-1": 1 message\n');
});

test('a saved context is written to a file, and nothing else is left', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-'));
  const { io, stdout } = commandIo();
  await writeSaved(io, run, join(folder, 'context.json'));
  expect(stdout()).toBe('');
  expect(await readdir(folder)).toEqual(['context.json']);
  expect(JSON.parse(await readFile(join(folder, 'context.json'), 'utf8'))).toEqual(saved);
  await expect(writeSaved(io, run, join(folder, 'no', 'context.json'))).rejects.toThrow(
    /^Nothing can be written: ".*context\.json" is in a folder that does not exist/,
  );
});

test.each([
  [
    ['start', 'clerk', 'Q', '--load', 'a.json', '--previous', 'r'],
    'There are several conversations: give one of --messages-json, --load and --previous',
  ],
  [['start', 'clerk', 'Q', '--load', 'a.json', '--messages-json', '[]'], 'There are several conversations'],
  [['start', 'clerk', '-', '--load', '-'], 'Only one of --load and the input can be "-"'],
  [['start', 'clerk', 'Q', '--load', '/nowhere/a.json'], 'The saved context "/nowhere/a.json" does not exist'],
  [['start', 'clerk', 'Q', '--load', '-'], 'The saved context in stdin is not JSON'],
])('%j is refused before a server is asked', async (args, problem) => {
  const { exitCode, stderr } = await callCli(args, { stdin: 'no JSON' });
  expect(exitCode).toBe(2);
  expect(stderr).toContain(problem);
});
