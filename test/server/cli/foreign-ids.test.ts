import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../../src/cli/program/program.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed } from '../testbed/testbed.ts';

/** Every command that takes the id of a run or of a session, and the options that do, with the arguments that it needs. */
const CALLS: Readonly<Record<string, (id: string) => string[]>> = {
  show: (id) => ['show', id],
  tree: (id) => ['tree', id],
  events: (id) => ['events', id],
  result: (id) => ['result', id],
  'session show': (id) => ['session', 'show', id],
  'session raise': (id) => ['session', 'raise', id, '--turns', '100'],
  'session reset': (id) => ['session', 'reset', id],
  'session save': (id) => ['session', 'save', id],
  'session close': (id) => ['session', 'close', id],
  'session delete': (id) => ['session', 'delete', id],
  trace: (id) => ['trace', id],
  approvals: (id) => ['approvals', id],
  approve: (id) => ['approve', id, 'c1'],
  reject: (id) => ['reject', id, 'c1'],
  respond: (id) => ['respond', id, 'c1', '--text', 'yes'],
  revoke: (id) => ['revoke', id, 'd1'],
  send: (id) => ['send', id, 'Hello'],
  pause: (id) => ['pause', id],
  resume: (id) => ['resume', id],
  raise: (id) => ['raise', id, '--steps', '100'],
  'set-permissions': (id) => ['set-permissions', id, '{"deny": ["refund"]}'],
  cancel: (id) => ['cancel', id],
  retry: (id) => ['retry', id],
  export: (id) => ['export', id],
  save: (id) => ['save', id],
  delete: (id) => ['delete', id, '--end'],
  'start --previous': (id) => ['start', 'assistant', 'Q', '--previous', id],
};

/** Commands that begin a session with the id that they are given: an id that is taken is refused, also if another user has it. */
const BEGINS = ['session load'];

function commandsWithIds(command: Command, path: readonly string[] = []): string[] {
  const own = command.registeredArguments.some((argument) => ['run', 'session'].includes(argument.name())) ? [path.join(' ')] : [];
  return [...own, ...command.commands.flatMap((below) => commandsWithIds(below, [...path, below.name()]))];
}

test('the calls of this test are all the commands that take an id', () => {
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  const terminal = { env: {}, stdin: (async function* () {})(), signal: new AbortController().signal, ...streams };
  const listed = commandsWithIds(createProgram(terminal, () => undefined));
  expect([...Object.keys(CALLS).filter((name) => !name.includes('--')), ...BEGINS].toSorted()).toEqual(listed.toSorted());
});

test('no command on the session of another user tells that there is one', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('Hello')], { repeatLast: true });
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const [id, unknown] = [`talk-${randomUUID()}`, `talk-${randomUUID()}`];
  const ada = testbed.client.as({ user: 'ada' }).session(assistant, { id, taskQueue: testbed.taskQueue });
  await ada.ask('Hi');
  const asEve = async (args: readonly string[]): ReturnType<typeof callCli> =>
    callCli([...args, '--user', 'eve', '--address', testbed.address, '--task-queue', testbed.taskQueue]);
  const answer = async (args: (id: string) => string[], of: string): Promise<unknown> => {
    const { exitCode, stdout, stderr } = await asEve(args(of));
    return { exitCode, stdout: stdout.replaceAll(of, '<id>'), stderr: stderr.replaceAll(of, '<id>') };
  };
  for (const [name, args] of Object.entries(CALLS)) {
    const foreign = await answer(args, id);
    expect([name, foreign]).toEqual([name, await answer(args, unknown)]);
    expect([name, foreign]).toEqual([name, expect.objectContaining({ exitCode: 6 })]);
  }

  const folder = await mkdtemp(join(tmpdir(), 'longhaul-foreign-'));
  const file = join(folder, 'talk.json');
  await writeFile(file, JSON.stringify(await ada.run.save()));
  const loaded = await asEve(['session', 'load', id, file, '--agent', 'assistant']);
  expect(loaded).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`"${id}" exists already`) as string });
  await rm(folder, { recursive: true });
  expect(await ada.status()).toMatchObject({ status: 'idle', session: { turns: 1 } });
  expect((await asEve(['list'])).stdout).not.toContain(id);
}, 120_000);
