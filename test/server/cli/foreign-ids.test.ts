import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../../src/cli/run-cli.ts';
import { Interruption } from '../../../src/cli/terminal.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { defineProgram } from '../../../src/index.ts';
import { ask, unit } from '../../../src/define/program/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed } from '../testbed/testbed.ts';

/** The words of a call with an id. `own` is a session of the caller. */
type Words = (id: string, own: string) => string[];

/** A call for each operand that names a run or a session, and for each option that does, with the arguments that it needs. */
const CALLS: Readonly<Record<string, Words>> = {
  'show <run>': (id) => ['show', id],
  'tree <run>': (id) => ['tree', id],
  'events <run>': (id) => ['events', id],
  'result <run>': (id) => ['result', id],
  'session show <session>': (id) => ['session', 'show', id],
  'session raise <session>': (id) => ['session', 'raise', id, '--tokens', '1000000'],
  'session reset <session>': (id) => ['session', 'reset', id],
  'session save <session>': (id) => ['session', 'save', id],
  'session close <session>': (id) => ['session', 'close', id],
  'session delete <session>': (id) => ['session', 'delete', id],
  'session turns <session>': (id) => ['session', 'turns', id],
  'trace <run>': (id) => ['trace', id],
  'timeline <run>': (id) => ['timeline', id],
  'snapshot <run>': (id) => ['snapshot', id],
  'call <run>': (id) => ['call', id, 'c1'],
  'request <run>': (id) => ['request', id, '1'],
  'approvals <run>': (id) => ['approvals', id],
  'approve <run>': (id) => ['approve', id, 'c1'],
  'approve --in': (id, own) => ['approve', own, 'c1', '--in', id],
  'reject <run>': (id) => ['reject', id, 'c1'],
  'reject --in': (id, own) => ['reject', own, 'c1', '--in', id],
  'respond <run>': (id) => ['respond', id, 'c1', '--text', 'yes'],
  'respond --in': (id, own) => ['respond', own, 'c1', '--in', id, '--text', 'yes'],
  'revoke <run>': (id) => ['revoke', id, 'd1'],
  'send <run>': (id) => ['send', id, 'Hello'],
  'pause <run>': (id) => ['pause', id],
  'resume <run>': (id) => ['resume', id],
  'raise <run>': (id) => ['raise', id, '--steps', '100'],
  'set-permissions <run>': (id) => ['set-permissions', id, '{"deny": ["refund"]}'],
  'cancel <run>': (id) => ['cancel', id],
  'retry <run>': (id) => ['retry', id],
  'export <run>': (id) => ['export', id],
  'save <run>': (id) => ['save', id],
  'delete <run>': (id) => ['delete', id, '--end'],
  'start --previous': (id) => ['start', 'assistant', 'Q', '--previous', id, '--wait-timeout', '30'],
  'run --resume': (id) => ['run', 'short', '--resume', id, '--wait-timeout', '30'],
};

/** Calls that begin a run or a session with a given id, with the exit code if another user has one with that id. */
const BEGINS: Readonly<Record<string, { words: (id: string, file: string) => string[]; exitCode: number }>> = {
  'session load <session>': { words: (id, file) => ['session', 'load', id, file, '--agent', 'assistant'], exitCode: 2 },
  'chat --session': { words: (id) => ['chat', 'assistant', '--session', id], exitCode: 2 },
  'start --run-id': { words: (id) => ['start', 'assistant', 'Q', '--run-id', id], exitCode: 2 },
  'run --run-id': { words: (id) => ['run', 'short', '--run-id', id, '--no-wait'], exitCode: 2 },
};

/** Calls of the same options with another choice if the id is taken. */
const MORE_BEGINS: typeof BEGINS = Object.fromEntries(
  ['return', 'restartFailed'].flatMap((choice) =>
    (['start --run-id', 'run --run-id'] as const).map((name) => [
      `${name} --if-exists ${choice}`,
      { words: (id: string, file: string) => [...(BEGINS[name]?.words(id, file) ?? []), '--if-exists', choice], exitCode: 2 },
    ]),
  ),
);

/** The operands and options of a command, and of those below it, that are called `run` or `session`. */
function takenIds(command: Command, path: readonly string[] = []): string[] {
  const name = path.join(' ');
  const operands = command.registeredArguments.map((one) => one.name()).filter(isId);
  const options = command.options.filter((option) => isId(valueOf(option)));
  return [
    ...operands.map((operand) => `${name} <${operand}>`),
    ...options.map(({ long }) => `${name} ${long}`),
    ...command.commands.flatMap((below) => takenIds(below, [...path, below.name()])),
  ];
}

const isId = (name: string | undefined): boolean => name === 'run' || name === 'session';
const valueOf = ({ flags }: Option): string | undefined => /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1];

function program(): Command {
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  const terminal = { env: {}, stdin: (async function* () {})(), signal: new AbortController().signal, ...streams };
  return createProgram(terminal, () => undefined);
}

function allOptions(command: Command): Option[] {
  return [...command.options, ...command.commands.flatMap(allOptions)];
}

test('the calls of this test are all the operands and options that take the id of a run or a session', () => {
  expect([...Object.keys(CALLS), ...Object.keys(BEGINS)].toSorted()).toEqual(takenIds(program()).toSorted());
  // Options about another id: the id of a request, a build, an OIDC client, or the run that begins.
  const others = allOptions(program()).filter((option) => /\bid\b/.test(`${option.flags} ${option.description}`) && !isId(valueOf(option)));
  expect(new Set(others.map(({ long }) => long))).toEqual(new Set(['--id', '--build-id', '--if-exists', '--no-wait', '--oidc-client']));
});

/** Aborted by a Ctrl-C after a time that no refusal takes. */
function interruptedLater(): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Interruption('SIGINT')), 20_000).unref();
  return controller.signal;
}

/** The exit code and the whole output of a call, with the id replaced. */
interface Answer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

test('no command reveals that another user has a run or a session with an id', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('Hello')], { repeatLast: true });
  const short = defineProgram({ name: 'short', model: 'scripted/m', units: [unit('only', {}, [ask('Answer', 'Q')])] });
  await testbed.work({ agents: [assistant], programs: [short], providers: { scripted } });
  const { taskQueue } = testbed;
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-foreign-'));

  const sessionOf = async (user: string, { closed = false } = {}): Promise<string> => {
    const id = `talk-${randomUUID()}`;
    const session = testbed.client.as({ user }).session(assistant, { id, taskQueue });
    await session.ask('Hi');
    if (closed) {
      await session.close();
      await session.run.result();
    }
    return id;
  };
  const asEve = async (words: readonly string[], id: string): Promise<Answer> => {
    const place = ['--user', 'eve', '--address', testbed.address, '--task-queue', taskQueue];
    const { exitCode, stdout, stderr } = await callCli([...words, ...place], { stdin: 'Hello\n', signal: interruptedLater() });
    const plain = (text: string): string =>
      text
        .replaceAll(id, '<id>')
        .replaceAll(/(assistant|short)-[\w-]{36}/g, '<new>')
        .replaceAll(/[\d.]+s\b/g, '<time>');
    return { exitCode, stdout: plain(stdout), stderr: plain(stderr) };
  };

  const [open, closed, own] = [await sessionOf('ada'), await sessionOf('ada', { closed: true }), await sessionOf('eve')];
  const unknown = `talk-${randomUUID()}`;
  for (const [name, words] of Object.entries(CALLS)) {
    const like = await asEve(words(unknown, own), unknown);
    expect.soft([name, like.stderr]).toEqual([name, expect.stringContaining('no run "<id>"')]);
    // If the worker looks for the run, its refusal is the result of the run that was started.
    expect.soft([name, like.exitCode]).toEqual([name, name === 'run --resume' ? like.exitCode : 6]);
    expect.soft([name, 'open', await asEve(words(open, own), open)]).toEqual([name, 'open', like]);
    expect.soft([name, 'closed', await asEve(words(closed, own), closed)]).toEqual([name, 'closed', like]);
  }

  const file = join(folder, 'talk.json');
  await writeFile(file, JSON.stringify(await testbed.client.handle(open).save()));
  for (const [name, { words, exitCode }] of Object.entries({ ...BEGINS, ...MORE_BEGINS })) {
    // An id for each call: it must not be the id of a run that an earlier call has begun.
    const [going, ended] = [await sessionOf('ada'), await sessionOf('ada', { closed: true })];
    const like = await asEve(words(going, file), going);
    expect.soft([name, like]).toEqual([name, expect.objectContaining({ exitCode, stdout: '' })]);
    expect.soft([name, 'closed', await asEve(words(ended, file), ended)]).toEqual([name, 'closed', like]);
    expect.soft(await testbed.client.handle(going).status()).toMatchObject({ status: 'idle', session: { turns: 1 } });
  }

  expect.soft(await testbed.client.handle(open).status()).toMatchObject({ status: 'idle', session: { turns: 1 } });
  expect.soft((await asEve(['list'], open)).stdout).not.toContain('<id>');
  await rm(folder, { recursive: true });
}, 240_000);

test('no command reveals that another user has a memory entry', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-foreign-'));
  const file = join(folder, 'memory.json');
  const namespace = memoryNamespace({ principal: { user: 'ada' }, agent: 'assistant' });
  if (namespace === undefined) throw new Error('the agent has a namespace');
  await fileMemory({ file }).remember({ namespace, key: 'pet', value: 'a cat' });
  const asEve = async (...words: string[]): Promise<Answer> => callCli(['memory', ...words, '--memory', file, '--user', 'eve']);
  const none = { exitCode: 0, stdout: '0 entries are removed\n', stderr: '' };
  for (const agent of ['assistant', 'unknown']) {
    expect(await asEve('list', '--agent', agent)).toEqual({ exitCode: 0, stdout: '', stderr: 'No entries.\n' });
    for (const key of ['pet', 'unknown']) expect(await asEve('forget', '--agent', agent, '--key', key)).toEqual(none);
    expect(await asEve('forget', '--agent', agent)).toEqual(none);
  }
  expect(await asEve('forget')).toEqual(none);
  expect((await fileMemory({ file }).list({ namespace })).entries).toHaveLength(1);
  await rm(folder, { recursive: true });
});
