import { expect, test } from 'vitest';
import { z } from 'zod';
import { WorkerStreams } from '../../../activities/streams/worker-streams.ts';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
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

test('data reaches the readers at once, numbered, and is no part of the result', async () => {
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

test('data of a later attempt bears its number, and that of a local call is published too', async () => {
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
  ['rows', undefined, 'emit: the data "rows" is not JSON: emit plain values'],
  ['rows', CYCLE, 'emit: the data "rows" is not JSON: emit plain values'],
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

test("with a sink that sends heartbeats, a tool's own ones are no more frequent than without, and a failure sends the last", async () => {
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
