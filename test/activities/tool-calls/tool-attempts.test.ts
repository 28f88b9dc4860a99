import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { runToolActivity, verifyCallActivity } from '../../../activities/tool-calls/run-tool.ts';
import { defineAgent, defineTool, type ToolOptions } from '../../../src/index.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { QUERIES, type RunToolInput, type RunToolOutput } from '../../../src/core/protocol.ts';
import { activityEnvironment, EXECUTION, type ActivityEnvironment } from '../activity-environment.ts';

type Options = Partial<ToolOptions<z.ZodObject, Record<string, unknown>, unknown>>;

/** An environment for one attempt of the tool "act", of as many as its policy allows. */
function attemptOf(
  options: Options,
  { attempt = 1, maximumAttempts = 3, isLocal = false } = {},
): ActivityEnvironment & { act: (input?: object) => Promise<RunToolOutput> } {
  const act = defineTool({ name: 'act', description: 'Acts', parameters: z.object({}), execute: () => 'acted', ...options });
  const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', deps: z.object({ level: z.number().optional() }), tools: [act] })];
  const environment = activityEnvironment({ agents, info: { activityType: 'act', attempt, isLocal, retryPolicy: { maximumAttempts } } });
  const input: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0], eventId: 'e1', arguments: {}, timeoutMs: 50 };
  return { ...environment, act: (more = {}) => environment.run(runToolActivity(environment.runtime), { ...input, ...more }) };
}

const fails = (): never => {
  throw new Error('down');
};
const hangs = (): Promise<never> => new Promise(() => undefined);

describe('an error that a tool throws', () => {
  test('fails the attempt if further attempts are left', async () => {
    await expect(attemptOf({ execute: fails }).act()).rejects.toMatchObject({ type: 'tool_failed', message: 'down', nonRetryable: false });
  });

  test('is the result of the last attempt, with the number of attempts', async () => {
    const output = await attemptOf({ execute: fails }, { attempt: 3 }).act();
    expect(output).toMatchObject({ content: ['down (3 attempts)'], isError: true });
  });

  test('is the result at once if the tool marks it so', async () => {
    expect(await attemptOf({ execute: fails, retryOn: 'none' }).act()).toMatchObject({ content: ['down'], isError: true });
    expect(await attemptOf({ execute: fails, retryOn: () => false }).act()).toMatchObject({ content: ['down'], isError: true });
  });

  test('is cut if it is too long to be reported', async () => {
    const shout = (): never => {
      throw new Error('x'.repeat(5_000_000));
    };
    const failure = await attemptOf({ execute: shout })
      .act()
      .catch((error: unknown) => error as Error);
    expect(jsonBytes((failure as Error).message)).toBeLessThanOrEqual(BYTE_BUDGETS.errorMessage);
  });

  test('is retried if the check of its retryability fails', async () => {
    await expect(attemptOf({ execute: fails, retryOn: () => JSON.parse('{') as boolean }).act()).rejects.toMatchObject({ message: 'down' });
  });

  test('may give the delay before the next attempt', async () => {
    const wait = (): never => {
      throw Object.assign(new Error('later'), { retryAfterMs: 1_234 });
    };
    await expect(attemptOf({ execute: wait }).act()).rejects.toMatchObject({ message: 'later', nextRetryDelay: 1_234 });
  });
});

describe('the delay after an attempt that has failed', () => {
  const backoff = { initial: 100, factor: 3, max: 1_000 };
  const slow = { execute: hangs, backoff };

  test.each([
    { attempt: 1, delay: 100 },
    { attempt: 2, delay: 300 },
    { attempt: 3, delay: 900 },
    { attempt: 9, delay: 1_000 },
  ])("is the tool's, and grows: $delay ms after attempt $attempt", async ({ attempt, delay }) => {
    const limits = { attempt, maximumAttempts: 10 };
    await expect(attemptOf({ execute: fails, backoff }, limits).act()).rejects.toMatchObject({ nextRetryDelay: delay });
    await expect(attemptOf(slow, limits).act()).rejects.toMatchObject({ type: 'tool_timeout', nextRetryDelay: delay });
  });

  test('is left to the policy of a local call, whose worker makes the attempts itself', async () => {
    await expect(attemptOf({ execute: fails, backoff }, { isLocal: true }).act()).rejects.toMatchObject({ nextRetryDelay: undefined });
  });
});

describe('a call with effect `once`', () => {
  const once = { effect: 'once' } as const;

  test('has failed if it throws, and is not retried', async () => {
    expect(await attemptOf({ ...once, execute: fails }, { maximumAttempts: 1 }).act()).toMatchObject({ content: ['down'], isError: true });
  });

  test('is lost after its time limit, because it may still be running', async () => {
    const environment = attemptOf({ ...once, execute: hangs }, { maximumAttempts: 1 });
    expect(await environment.act()).toMatchObject({ lost: true, reason: expect.stringContaining('timed out') as string });
    expect(environment.logged).toMatchObject([
      { level: 'ERROR', meta: { error: { message: expect.stringContaining('timed out') as string } } },
    ]);
  });

  test('is lost if the worker shuts down meanwhile, and cancelled if the run is', async () => {
    let began = Promise.withResolvers<void>();
    const obedient = (_: object, { signal }: { signal: AbortSignal }): Promise<never> => {
      began.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
    };
    const down = attemptOf({ ...once, execute: obedient }, { maximumAttempts: 1 });
    const lost = down.act({ timeoutMs: 60_000 });
    await began.promise;
    down.shutDown();
    expect(await lost).toMatchObject({ lost: true });

    const environment = attemptOf({ ...once, execute: obedient }, { maximumAttempts: 1 });
    began = Promise.withResolvers<void>();
    const cancelled = environment.act({ timeoutMs: 60_000 });
    await began.promise;
    environment.runtime.aborts.abort(EXECUTION);
    await expect(cancelled).rejects.toMatchObject({ name: 'AbortError', message: 'The run was cancelled' });
  });

  test('is lost too if the effect is `once` in the run, and a later build of the worker has changed it', async () => {
    expect(await attemptOf({ execute: hangs }, { maximumAttempts: 1 }).act({ once: true })).toMatchObject({ lost: true });
  });

  test('has not started if its deps are invalid', async () => {
    let began = false;
    const environment = attemptOf({ ...once, execute: () => (began = true) }, { maximumAttempts: 1 });
    await expect(environment.act({ deps: { level: 'x' } })).rejects.toMatchObject({ type: 'invalid_input' });
    expect(began).toBe(false);
  });
});

describe('verifying the outcome of a call', () => {
  const input = {
    agentName: 'clerk',
    callId: 'c1',
    step: 1,
    at: [1, 0] as [number, number],
    eventId: 'e1',
    tool: 'act',
    timeoutMs: 60_000,
  };
  const ask = (verify: ToolOptions<z.ZodObject, Record<string, unknown>, unknown>['verify']): Promise<unknown> => {
    const environment = attemptOf({ effect: 'once', ...(verify === undefined ? {} : { verify }) });
    return environment.run(verifyCallActivity(environment.runtime), input);
  };

  test('gives its result as if the call had returned it', async () => {
    const found = await ask((key) => ({ happened: true, result: { key } }));
    expect(found).toMatchObject({ happened: true, output: { content: [{ key: 'run-1/e1/0' }] } });
  });

  test('reports that the call had no effect', async () => {
    expect(await ask(() => ({ happened: false }))).toEqual({ happened: false, tool: 'act' });
  });

  test.each<[string, object]>([
    ['it hangs', { verify: hangs }],
    ['its result is checked without end', { verify: () => ({ happened: true, result: 1 }), result: z.number().refine(hangs) }],
  ])('ends at its time limit if %s', async (_, options) => {
    const environment = attemptOf({ effect: 'once', ...options });
    await expect(environment.run(verifyCallActivity(environment.runtime), { ...input, timeoutMs: 30 })).rejects.toMatchObject({
      type: 'verification_failed',
      message: "Tool 'act' timed out after 30ms",
    });
  });

  test.each([undefined, null, {}, { happened: 'no' }])('is retried if the answer is %j, which is neither', async (answer) => {
    await expect(ask(() => answer as never)).rejects.toMatchObject({
      type: 'verification_failed',
      message: expect.stringContaining('neither {happened: true, result} nor {happened: false}'),
    });
  });

  test('is retried if "verify" fails or is missing', async () => {
    await expect(ask(fails)).rejects.toMatchObject({ type: 'verification_failed', nonRetryable: false });
    await expect(ask(undefined)).rejects.toMatchObject({ message: expect.stringContaining('has no "verify" of tool "act"') });
  });
});

test('reported progress is passed to the next attempt', async () => {
  const environment = attemptOf({ execute: (_, { heartbeat }) => heartbeat({ done: 3 }) });
  await environment.act();
  expect(environment.heartbeats).toEqual([{ done: 3 }]);
});

test('heartbeats continue while a call waits for its data', async () => {
  const { promise, resolve } = Promise.withResolvers<object>();
  const act = defineTool({ name: 'act', description: 'Acts', parameters: z.object({}), execute: () => 'acted' });
  const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [act] })];
  const info = { activityType: 'act', heartbeatTimeoutMs: 15 };
  const environment = activityEnvironment({ agents, info, answers: { [QUERIES.data]: promise } });
  const input: RunToolInput = {
    agentName: 'clerk',
    callId: 'c1',
    step: 1,
    at: [1, 0],
    eventId: 'e1',
    arguments: {},
    timeoutMs: 60_000,
    dataByReference: true,
  };
  const output = environment.run(runToolActivity(environment.runtime), input);
  await vi.waitFor(() => expect(environment.heartbeats.length).toBeGreaterThan(1));
  resolve({ deps: {}, state: {} });
  expect(await output).toMatchObject({ content: ['acted'] });
});

test('a local call has no heartbeats, and reports its position', async () => {
  const environment = attemptOf({ tier: 'local', execute: (_, { heartbeat }) => heartbeat('half') }, { isLocal: true });
  expect(await environment.act()).toMatchObject({ content: [], at: [1, 0] });
  expect(environment.heartbeats).toEqual([]);
});

test('a key in a result changes the deps only if the tool allows it: otherwise the author of the result could', async () => {
  const execute = (): object => ({ ok: true, __update_context__: { level: 9 } });
  expect(await attemptOf({ execute }).act()).toMatchObject({ content: [{ ok: true, __update_context__: { level: 9 } }] });
  expect(await attemptOf({ execute }).act()).not.toHaveProperty('contextUpdate');
  expect(await attemptOf({ execute, legacyUpdates: true }).act()).toMatchObject({
    content: [{ ok: true }],
    contextUpdate: [{ op: 'set', key: 'level', value: 9 }],
  });
});
