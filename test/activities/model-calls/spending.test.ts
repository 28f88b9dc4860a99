import { expect, test } from 'vitest';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { summariseActivity } from '../../../activities/model-calls/summarise.ts';
import { defineAgent } from '../../../src/index.ts';
import { ModelCallError } from '../../../src/core/domain/errors/error.ts';
import type { ModelCallContext, ModelClient, ModelResponse } from '../../../src/core/domain/model/model.ts';
import type { CallModelOutput, SummariseOutput } from '../../../src/core/protocol.ts';
import { failWith, hang, malformed, say, scriptedModel } from '../../../src/testing/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityWorld, EXECUTION, type World, type WorldOptions } from '../activity-world.ts';

const agent = defineAgent({ name: 'bot', model: 'scripted/m' });
const REPORTED = { promptTokens: 7, completionTokens: 2, totalTokens: 9 };
const BEFORE = { spent: { reported: REPORTED, estimated: { promptTokens: 4, completionTokens: 1, totalTokens: 5 } } };

function worldOf(model: ModelClient, options: WorldOptions = {}): World {
  const world = activityWorld({ agents: [agent], model, ...options });
  world.runtime.snapshots.add(snapshotOf(agent));
  return world;
}

const ASKED = { agent: snapshotOf(agent).digest, through: 1, lastEventId: 'e0' };

function callModel(world: World): Promise<CallModelOutput> {
  return world.run(callModelActivity(world.runtime), ASKED);
}

function summarise(world: World): Promise<SummariseOutput> {
  return world.run(summariseActivity(world.runtime), { ...ASKED, head: -1, tail: null, maxBytes: 1_000 });
}

/** The usage in the details of an activity's failure. */
async function detailsOf(failing: Promise<unknown>): Promise<unknown[]> {
  const failure: unknown = await failing.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
  return (failure as { details?: unknown[] }).details ?? [];
}

/** A model that does something before its call fails. */
function modelThat(
  act: (context: ModelCallContext) => void,
  code: 'model_unreachable' | 'model_server_error' = 'model_unreachable',
): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (_, context) => {
      act(context);
      return Promise.reject<ModelResponse>(new ModelCallError(code, 'broken'));
    },
  };
}

test('an attempt that failed reports its usage by one heartbeat and in its failure', async () => {
  const world = worldOf(modelThat(({ onUsage }) => onUsage?.(REPORTED)));
  const spent = { reported: REPORTED };
  expect(await detailsOf(callModel(world))).toEqual([{ spent }]);
  expect(world.beats).toEqual([{ spent }]);
});

test('without reported usage, text, arguments of calls and reasoning are estimated, and so is the request', async () => {
  const world = worldOf(
    modelThat(({ onText, onOutput }) => {
      onText?.('Zürich');
      onOutput?.('{"a":');
      onOutput?.('1}');
    }),
  );
  const [details] = (await detailsOf(callModel(world))) as { spent: { estimated: typeof REPORTED } }[];
  // Of 7 and 7 bytes.
  expect(details).toMatchObject({ spent: { estimated: { completionTokens: 4 } } });
  const { promptTokens, completionTokens, totalTokens } = details?.spent.estimated ?? { ...REPORTED, promptTokens: 0 };
  expect(promptTokens).toBeGreaterThan(10);
  expect(totalTokens).toBe(promptTokens + completionTokens);
  expect(world.beats).toEqual([details]);
});

test('a failure without any output costs nothing, and sends no heartbeat', async () => {
  const world = worldOf(scriptedModel([failWith('model_rate_limited')]));
  expect(await detailsOf(callModel(world))).toEqual([]);
  expect(world.beats).toEqual([]);
});

test('every later failure reports the usage of earlier attempts, without another heartbeat', async () => {
  const world = worldOf(scriptedModel([failWith('model_server_error')]), { heartbeatDetails: BEFORE });
  expect(await detailsOf(callModel(world))).toEqual([BEFORE]);
  expect(world.beats).toEqual([]);
});

test('a failure before the model is called reports the usage of earlier attempts too', async () => {
  const world = activityWorld({ agents: [agent], heartbeatDetails: BEFORE });
  expect(await detailsOf(callModel(world))).toEqual([BEFORE]);
});

test('the usage of attempts adds up', async () => {
  const world = worldOf(
    modelThat(({ onUsage }) => onUsage?.({ ...REPORTED, cachedTokens: 3 })),
    { heartbeatDetails: BEFORE },
  );
  const reported = { promptTokens: 14, completionTokens: 4, totalTokens: 18, cachedTokens: 3 };
  expect(await detailsOf(callModel(world))).toEqual([{ spent: { ...BEFORE.spent, reported } }]);
});

test('an answer reports the usage of the attempts before it, if there were any', async () => {
  const first = worldOf(scriptedModel([say('A')]));
  expect(await callModel(first)).not.toHaveProperty('response.failedAttempts');
  const later = worldOf(scriptedModel([say('A')]), { heartbeatDetails: BEFORE });
  expect(await callModel(later)).toHaveProperty('response.failedAttempts', BEFORE.spent);
});

test.each([['some text'], [{ spent: 'much' }], [{ spent: { reported: { promptTokens: -1 } } }], [{ spent: { estimated: [] } }], [null]])(
  'other heartbeat details (%j) count as no usage',
  async (heartbeatDetails) => {
    expect(await callModel(worldOf(scriptedModel([say('A')]), { heartbeatDetails }))).not.toHaveProperty('response.failedAttempts');
  },
);

test('an answer that is refused for its size counts', async () => {
  const world = worldOf(scriptedModel([say('x'.repeat(500_000), { usage: REPORTED })]));
  expect(await detailsOf(callModel(world))).toEqual([{ spent: { reported: REPORTED } }]);
});

test('an invalid answer counts', async () => {
  const world = worldOf(scriptedModel([malformed({ content: 7, usage: 'much' })]));
  expect(await detailsOf(summarise(world))).toMatchObject([{ spent: { estimated: { completionTokens: 0 } } }]);
});

test('an aborted call keeps its output so far and the usage of the attempts before', async () => {
  const model = scriptedModel([hang('half')]);
  const world = worldOf(model, { heartbeatDetails: BEFORE });
  const output = callModel(world);
  await expect.poll(() => model.requests.length).toBe(1);
  world.runtime.aborts.interrupt(EXECUTION, '');
  expect(await output).toEqual({
    type: 'aborted',
    partial: {
      id: expect.any(String) as string,
      content: [{ type: 'message', role: 'assistant', content: 'half' }],
      finishReason: 'interrupted',
      usage: null,
      failedAttempts: BEFORE.spent,
    },
  });
});

test("a request that was sent counts even without output; the provider's usage wins over the estimate", async () => {
  const model = scriptedModel([hang()]);
  const silent = worldOf(model);
  const output = callModel(silent);
  await expect.poll(() => model.requests.length).toBe(1);
  silent.cancel();
  expect(await output).toMatchObject({ type: 'aborted', partial: { content: [], usage: null } });

  const asked = Promise.withResolvers<void>();
  const reporting: ModelClient = {
    capabilities: { structuredOutput: true },
    call: (_, { signal, onUsage }) => {
      onUsage?.(REPORTED);
      asked.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const world = worldOf(reporting);
  const reported = callModel(world);
  await asked.promise;
  world.cancel();
  expect(await reported).toMatchObject({ type: 'aborted', partial: { usage: REPORTED } });
});

test('a call that was cancelled before its request was sent has no partial answer', async () => {
  const model = scriptedModel([]);
  const world = worldOf(model);
  world.cancel();
  expect(await callModel(world)).toEqual({ type: 'aborted' });
  expect(model.requests).toEqual([]);
});

test('an empty summary counts, and the next one reports its usage', async () => {
  const empty = worldOf(scriptedModel([say(' ', { usage: REPORTED })]));
  expect(await detailsOf(summarise(empty))).toEqual([{ spent: { reported: REPORTED } }]);
  const later = worldOf(scriptedModel([say('summed up')]), { heartbeatDetails: BEFORE });
  expect(await summarise(later)).toMatchObject({ text: 'summed up', failedAttempts: BEFORE.spent });
});

test('a cancelled summary counts, and its text is dropped', async () => {
  const model = scriptedModel([hang('half a summ')]);
  const world = worldOf(model);
  const output = summarise(world);
  await expect.poll(() => model.requests.length).toBe(1);
  world.runtime.aborts.abort(EXECUTION);
  expect(await output).toMatchObject({ type: 'aborted', partial: { content: [], usage: null } });
});

test('a message does not interrupt a summary', async () => {
  const model = scriptedModel([hang('half a summ')]);
  const world = worldOf(model);
  const output = summarise(world);
  await expect.poll(() => model.requests.length).toBe(1);
  world.runtime.aborts.interrupt(EXECUTION, '');
  const first = await Promise.race([output, new Promise((resolve) => setImmediate(() => resolve('still going on')))]);
  expect(first).toBe('still going on');
  world.cancel();
  await output;
});
