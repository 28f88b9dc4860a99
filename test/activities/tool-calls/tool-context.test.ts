import { expect, test } from 'vitest';
import { z } from 'zod';
import { WorkerStreams } from '../../../activities/streams/worker-streams.ts';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { contextUpdate, defineAgent, defineTool, withUpdate } from '../../../src/index.ts';
import type { RunContext } from '../../../src/define/context.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { QUERIES, type RunToolInput, type RunToolOutput } from '../../../src/core/protocol.ts';
import { type FakeSink, fakeSink, PLAIN } from '../../fakes/fake-sink.ts';
import { activityEnvironment, type ActivityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';

const INPUT: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [4, 0], eventId: 'e4', arguments: {}, timeoutMs: 60_000 };
const OF = { executionId: 'execution-1', eventId: 'e4', callId: 'c1', through: 5, activity: 0, attempt: 1 };

interface Running {
  environment: ActivityEnvironment;
  sink: FakeSink;
  run: (input?: Partial<RunToolInput>) => Promise<RunToolOutput>;
}

type Execute = (context: Pick<RunContext, 'emit' | 'heartbeat' | 'lastHeartbeat' | 'secret' | 'signal'>) => Promise<void> | void;

/** One call of a tool, on a worker with a sink. */
function calling(execute: Execute, { heartbeatMs, ...options }: EnvironmentOptions & { heartbeatMs?: number } = {}): Running {
  const tool = defineTool({
    name: 'unknown',
    description: 'Acts',
    parameters: z.object({}),
    retryOn: 'none',
    execute: async (_, context) => {
      await execute(context);
      return 'done';
    },
  });
  const sink = { ...fakeSink(), ...(heartbeatMs === undefined ? {} : { heartbeatEveryMs: heartbeatMs }) };
  const streams = new WorkerStreams(sink, () => undefined);
  streams.open('default', PLAIN);
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [tool] });
  const environment = activityEnvironment({ agents: [agent], streams, ...options });
  return { environment, sink, run: (input = {}) => environment.run(runToolActivity(environment.runtime), { ...INPUT, ...input }) };
}

const data = (name: string, value: JsonValue): object => ({ type: 'data', callId: 'c1', name, data: value });

test('data reaches the readers at once, numbered, and is not part of the result', async () => {
  const { sink, run } = calling(({ emit }) => {
    emit('rows', { at: 1 });
    expect(sink.published).toHaveLength(1);
    emit('rows', [2]);
  });
  expect(await run()).toMatchObject({ content: ['done'] });
  expect(sink.entries('run-1')).toEqual([
    { type: 'delta', of: OF, index: 0, delta: data('rows', { at: 1 }) },
    { type: 'delta', of: OF, index: 1, delta: data('rows', [2]) },
  ]);
});

test('data of a later attempt has its number, and data of a local call is published too', async () => {
  const later = calling(({ emit }) => emit('rows', 1), { info: { attempt: 3 } });
  await later.run();
  expect(later.sink.entries()).toMatchObject([{ of: { attempt: 3 } }]);
  const local = calling(({ emit }) => emit('rows', 1), { info: { isLocal: true } });
  await local.run();
  expect(local.sink.entries()).toHaveLength(1);
});

test('data that is emitted after the call has ended reaches no reader', async () => {
  let late: RunContext['emit'] | undefined;
  const { sink, run } = calling((context) => void (late = context.emit));
  await run();
  late?.('rows', 1);
  expect(sink.published).toEqual([]);
});

test('secrets are redacted', async () => {
  const secrets = new SecretVault(() => 's3cr3t-value');
  const { sink, run } = calling(
    async ({ emit, secret }) => {
      const key = await secret('key');
      emit(`key ${key}`, { key, [key]: [key] });
    },
    { secrets },
  );
  await run();
  expect(sink.published).toHaveLength(1);
  expect(JSON.stringify(sink.entries())).not.toContain('s3cr3t-value');
});

const CYCLE: Record<string, unknown> = {};
CYCLE['self'] = CYCLE;

test.each<[string, unknown, string]>([
  ['', 1, 'emit: the name of the data must be a text of 1 to 100 characters'],
  [' ', 1, 'emit: the name of the data must be a text of 1 to 100 characters'],
  ['n'.repeat(101), 1, 'emit: the name of the data must be a text of 1 to 100 characters'],
  ['rows', undefined, 'emit: the data "rows" is undefined: emit null'],
  ['rows', CYCLE, 'emit: the data "rows" is not JSON: "self" leads back to an object that it is part of'],
  ['rows', { all: new Map() }, 'emit: the data "rows" is not JSON: "all" is a Map'],
  ['rows', 'x'.repeat(32_000), 'emit: the data "rows" is 32002 bytes of JSON, over 32000: emit a part of it'],
])('data that cannot be carried is a TypeError, with a sink and without one (%#)', async (name, value, message) => {
  for (const options of [{}, { streams: undefined }]) {
    let thrown: unknown;
    const { sink, run } = calling((context) => {
      try {
        context.emit(name, value as JsonValue);
      } catch (error) {
        thrown = error;
        throw error;
      }
    }, options);
    expect(await run()).toMatchObject({ isError: true });
    expect(thrown).toBeInstanceOf(TypeError);
    expect((thrown as Error).message).toContain(message);
    expect(sink.published).toEqual([]);
  }
});

test('data of the largest size is carried', async () => {
  const { sink, run } = calling(({ emit }) => emit('rows', 'x'.repeat(31_998)));
  expect(await run()).toMatchObject({ content: ['done'] });
  expect(sink.published).toHaveLength(1);
});

test('a worker without a sink, and a run inside a workflow of the user, do nothing with it', async () => {
  const { run } = calling(({ emit }) => emit('rows', 1), { streams: undefined });
  expect(await run()).toMatchObject({ content: ['done'] });
  const inline = calling(({ emit }) => emit('rows', 1));
  await inline.run({ run: 'key' });
  expect(inline.sink.published).toEqual([]);
});

test('only a sink that sends heartbeats needs to know if the run is live, and the worker asks the run once', async () => {
  const answers = { [QUERIES.snapshot]: { live: true } };
  const emitting: Execute = ({ emit }) => {
    emit('rows', 1);
    emit('rows', 2);
  };
  const plain = calling(emitting, { answers });
  await plain.run();
  expect(plain.environment.asked).toEqual([]);

  const { environment, sink, run } = calling(emitting, { answers, heartbeatMs: 500 });
  for (const times of [1, 2]) {
    await run();
    await expect.poll(() => sink.published.length).toBe(2 * times);
  }
  expect(environment.asked.map(([query]) => query)).toEqual([QUERIES.snapshot]);
  expect(sink.published.map(({ entry, activity }) => [entry.type === 'delta' && entry.index, activity?.live])).toEqual([
    [0, true],
    [1, true],
    [0, true],
    [1, true],
  ]);
});

test("with a sink that sends heartbeats, a tool's own heartbeats are not more frequent than without it, and a failure sends the last one", async () => {
  const busy: Execute = ({ heartbeat }) => {
    for (const row of [1, 2, 3]) heartbeat({ row });
  };
  const ending = calling(busy, { heartbeatMs: 500 });
  await ending.run();
  expect(ending.environment.heartbeats).toEqual([{ row: 1 }]);
  const failing = calling(
    (context) => {
      void busy(context);
      failing.environment.shutDown();
      throw context.signal.reason;
    },
    { heartbeatMs: 500 },
  );
  await expect(failing.run()).rejects.toMatchObject({ message: 'WORKER_SHUTDOWN' });
  expect(failing.environment.heartbeats).toEqual([{ row: 1 }, { row: 3 }]);
  const plain = calling(busy);
  await plain.run();
  expect(plain.environment.heartbeats).toEqual([{ row: 1 }, { row: 2 }, { row: 3 }]);
});

test("a heartbeat for the stream keeps the tool's own progress, which the next attempt gets alone", async () => {
  const first = calling(({ emit, heartbeat }) => {
    heartbeat({ row: 7 });
    emit('rows', 1);
    first.sink.published[0]?.activity?.heartbeat({ at: 1 });
  });
  await first.run();
  expect(first.environment.heartbeats).toEqual([{ row: 7 }, { 'longhaul:stream': { at: 1 }, details: { row: 7 } }]);
  let seen: unknown;
  const next = calling((context) => void (seen = context.lastHeartbeat), { heartbeatDetails: first.environment.heartbeats.at(-1) });
  await next.run();
  expect(seen).toEqual({ row: 7 });
});

/** Returns the outcome of a call that returns this value. */
async function returning(returned: unknown, updates?: boolean | string[]): Promise<RunToolOutput> {
  const act = defineTool({
    name: 'act',
    description: 'Acts',
    parameters: z.object({}),
    ...(updates === undefined ? {} : { updates }),
    execute: (_, { setState }) => {
      if (returned === 'state') setState('b', 1);
      if (returned === 'lost') setState('b', { rows: new Map() } as never);
      return returned;
    },
  });
  const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [act] })];
  const environment = activityEnvironment({ agents, info: { activityType: 'act' } });
  const input: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0], eventId: 'e1', arguments: {}, timeoutMs: 60_000 };
  return environment.run(runToolActivity(environment.runtime), input);
}

const REFUSED = "The update of the deps by tool 'act' was refused, and changed nothing: ";

test('an update is part of the result', async () => {
  const output = await returning(withUpdate('done', contextUpdate().set('a', 1)));
  expect(output).toMatchObject({ content: ['done'], contextUpdate: [{ op: 'set', key: 'a', value: 1 }] });
});

const both = withUpdate('done', contextUpdate().append('a', 1).set('b', 1));
test.each<[string, unknown, boolean | string[], string]>([
  ['deps', both, ['a'], 'it changes "b", and the option "updates" of the tool names "a"'],
  ['deps', both, false, 'it changes "a", and the option "updates" of the tool names nothing'],
  ['the state', 'state', ['a', 'c'], 'it changes "b", and the option "updates" of the tool names "a", "c"'],
])('an update of a key of %s that the tool does not name is refused', async (_, returned, updates, problem) => {
  const output = await returning(returned, updates);
  expect(output).toMatchObject({
    isError: true,
    content: [`The update by tool 'act' was refused, and changed nothing: ${problem}`],
  });
  expect(output).not.toHaveProperty('contextUpdate');
  expect(output).not.toHaveProperty('state');
});

test.each<[string, unknown, boolean | string[]]>([
  ['deps', both, ['a', 'b']],
  ['deps', both, true],
  ['the state', 'state', ['b']],
])('an update of keys of %s that the tool names is part of the result', async (_, returned, updates) => {
  expect(await returning(returned, updates)).not.toHaveProperty('isError');
});

test('a state that JSON would lose is refused with its path', async () => {
  await expect(returning('lost')).rejects.toThrow('setState: the value of "b" is not JSON: "rows" is a Map');
});

test('an update of the deps that JSON would lose is refused with its path', async () => {
  const output = await returning(withUpdate('done', contextUpdate().set('rows', new Map() as never)));
  expect(output).toMatchObject({ isError: true, content: [expect.stringContaining(`${REFUSED}deps.rows is an object of class "Map"`)] });
});

test('an update whose operations exceed the budget of deps is refused, even if little remains: operations are recorded', async () => {
  const large = 'x'.repeat(80_000);
  const output = await returning(withUpdate('done', contextUpdate().set('a', large).set('a', large).delete('a')));
  expect(output).toMatchObject({ isError: true, content: [expect.stringContaining(`${REFUSED}its operations are 160`)] });
  expect(output).not.toHaveProperty('contextUpdate');
});

test('an update that nests the deps deeper than 64 levels is refused: by itself, or in the list that it is appended to', async () => {
  const lists = (levels: number): never => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as never;
  const kept = await returning(withUpdate('done', contextUpdate().append('list', lists(62))));
  expect(kept).toMatchObject({ content: ['done'] });
  const appended = await returning(withUpdate('done', contextUpdate().append('list', lists(63))));
  expect(appended).toMatchObject({ isError: true, content: [expect.stringContaining('nested deeper than 64 levels')] });
  const set = await returning(withUpdate('done', contextUpdate().set('list', lists(10_000))));
  expect(set).toMatchObject({ isError: true, content: [expect.stringContaining('nested deeper than 64 levels')] });
});

test.each([
  [{ operations: [{ op: 'increment', key: 'a', value: 1 }] }, 'there is no operation "increment": write set, merge, append or delete'],
  [{ operations: [null] }, 'there is no operation null: write set, merge, append or delete'],
  [{ operations: 'set' }, 'it has no list of operations: write contextUpdate().set(key, value)'],
  [undefined, 'it has no list of operations: write contextUpdate().set(key, value)'],
])('an invalid update (%j) is refused, and the call is not retried', async (update, problem) => {
  expect(await returning(withUpdate('done', update as never))).toMatchObject({ isError: true, content: [`${REFUSED}${problem}`] });
});
