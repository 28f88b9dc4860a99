import { expect, test } from 'vitest';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { summarizeActivity } from '../../../activities/model-calls/summarize.ts';
import { defineAgent } from '../../../src/index.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelCallContext, ModelClient, ModelResponse } from '../../../src/core/domain/model.ts';
import type { CallModelOutput, SummarizeOutput } from '../../../src/core/protocol.ts';
import { failWith, hang, malformed, say, scriptedModel } from '../../../src/testing/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, EXECUTION, type ActivityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';

const agent = defineAgent({ name: 'bot', model: 'scripted/m' });
const REPORTED = { promptTokens: 7, completionTokens: 2, totalTokens: 9 };
const BEFORE = { spent: { reported: REPORTED, estimated: { promptTokens: 4, completionTokens: 1, totalTokens: 5 } } };

function environmentOf(model: ModelClient, options: EnvironmentOptions = {}): ActivityEnvironment {
  const environment = activityEnvironment({ agents: [agent], model, ...options });
  environment.runtime.snapshots.add(snapshotOf(agent));
  return environment;
}

const ASKED = { agent: snapshotOf(agent).digest, through: 1, lastEventId: 'e0' };

function callModel(environment: ActivityEnvironment): Promise<CallModelOutput> {
  return environment.run(callModelActivity(environment.runtime), ASKED);
}

function summarize(environment: ActivityEnvironment): Promise<SummarizeOutput> {
  return environment.run(summarizeActivity(environment.runtime), { ...ASKED, head: -1, tail: null, maxBytes: 1_000 });
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
  const environment = environmentOf(modelThat(({ onUsage }) => onUsage?.(REPORTED)));
  const spent = { reported: REPORTED };
  expect(await detailsOf(callModel(environment))).toEqual([{ spent }]);
  expect(environment.heartbeats).toEqual([{ spent }]);
});

test('without reported usage, text, arguments of calls and reasoning are estimated, and so is the request', async () => {
  const environment = environmentOf(
    modelThat(({ onDelta }) => {
      onDelta?.({ type: 'text', text: 'Zürich' });
      onDelta?.({ type: 'reasoning', text: '{"a":' });
      onDelta?.({ type: 'tool_input', callId: '', toolName: '', text: '1}' });
    }),
  );
  const [details] = (await detailsOf(callModel(environment))) as { spent: { estimated: typeof REPORTED } }[];
  // Of 7 and 7 bytes.
  expect(details).toMatchObject({ spent: { estimated: { completionTokens: 4 } } });
  const { promptTokens, completionTokens, totalTokens } = details?.spent.estimated ?? { ...REPORTED, promptTokens: 0 };
  expect(promptTokens).toBeGreaterThan(10);
  expect(totalTokens).toBe(promptTokens + completionTokens);
  expect(environment.heartbeats).toEqual([details]);
});

test('a failure without any output costs nothing, and sends no heartbeat', async () => {
  const environment = environmentOf(scriptedModel([failWith('model_unreachable')]));
  expect(await detailsOf(callModel(environment))).toEqual([]);
  expect(environment.heartbeats).toEqual([]);
});

test('every later failure reports the usage of earlier attempts, without another heartbeat', async () => {
  const environment = environmentOf(scriptedModel([failWith('model_unreachable')]), { heartbeatDetails: BEFORE });
  expect(await detailsOf(callModel(environment))).toEqual([BEFORE]);
  expect(environment.heartbeats).toEqual([]);
});

test('a failure before the model is called reports the usage of earlier attempts too', async () => {
  const environment = activityEnvironment({ agents: [agent], heartbeatDetails: BEFORE });
  expect(await detailsOf(callModel(environment))).toEqual([BEFORE]);
});

test('the usage of attempts adds up', async () => {
  const environment = environmentOf(
    modelThat(({ onUsage }) => onUsage?.({ ...REPORTED, cachedTokens: 3 })),
    { heartbeatDetails: BEFORE },
  );
  const reported = { promptTokens: 14, completionTokens: 4, totalTokens: 18, cachedTokens: 3 };
  expect(await detailsOf(callModel(environment))).toEqual([{ spent: { ...BEFORE.spent, reported } }]);
});

test('an answer reports the usage of the attempts before it, if there were any', async () => {
  const first = environmentOf(scriptedModel([say('A')]));
  expect(await callModel(first)).not.toHaveProperty('response.failedAttempts');
  const later = environmentOf(scriptedModel([say('A')]), { heartbeatDetails: BEFORE });
  expect(await callModel(later)).toHaveProperty('response.failedAttempts', BEFORE.spent);
});

test.each([['some text'], [{ spent: 'much' }], [{ spent: { reported: { promptTokens: -1 } } }], [{ spent: { estimated: [] } }], [null]])(
  'other heartbeat details (%j) count as no usage',
  async (heartbeatDetails) => {
    expect(await callModel(environmentOf(scriptedModel([say('A')]), { heartbeatDetails }))).not.toHaveProperty('response.failedAttempts');
  },
);

test('an answer that is refused for its size counts', async () => {
  const environment = environmentOf(scriptedModel([say('x'.repeat(500_000), { usage: REPORTED })]));
  expect(await detailsOf(callModel(environment))).toEqual([{ spent: { reported: REPORTED } }]);
});

test('an invalid answer counts', async () => {
  const environment = environmentOf(scriptedModel([malformed({ content: 7, usage: 'much' })]));
  expect(await detailsOf(summarize(environment))).toMatchObject([{ spent: { estimated: { completionTokens: 0 } } }]);
});

test('an aborted call keeps its output so far and the usage of the attempts before', async () => {
  const model = scriptedModel([hang('half')]);
  const environment = environmentOf(model, { heartbeatDetails: BEFORE });
  const output = callModel(environment);
  await expect.poll(() => model.requests.length).toBe(1);
  environment.runtime.aborts.interrupt(EXECUTION, '');
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
  const silent = environmentOf(model);
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
  const environment = environmentOf(reporting);
  const reported = callModel(environment);
  await asked.promise;
  environment.cancel();
  expect(await reported).toMatchObject({ type: 'aborted', partial: { usage: REPORTED } });
});

test('a call that was cancelled before its request was sent has no partial answer', async () => {
  const model = scriptedModel([]);
  const environment = environmentOf(model);
  environment.cancel();
  expect(await callModel(environment)).toEqual({ type: 'aborted' });
  expect(model.requests).toEqual([]);
});

test('an empty summary counts, and the next one reports its usage', async () => {
  const empty = environmentOf(scriptedModel([say(' ', { usage: REPORTED })]));
  expect(await detailsOf(summarize(empty))).toEqual([{ spent: { reported: REPORTED } }]);
  const later = environmentOf(scriptedModel([say('summed up')]), { heartbeatDetails: BEFORE });
  expect(await summarize(later)).toMatchObject({ text: 'summed up', failedAttempts: BEFORE.spent });
});

test('a cancelled summary counts, and its text is dropped', async () => {
  const model = scriptedModel([hang('half a summ')]);
  const environment = environmentOf(model);
  const output = summarize(environment);
  await expect.poll(() => model.requests.length).toBe(1);
  environment.runtime.aborts.abort(EXECUTION);
  expect(await output).toMatchObject({ type: 'aborted', partial: { content: [], usage: null } });
});

test('a message does not interrupt a summary', async () => {
  const model = scriptedModel([hang('half a summ')]);
  const environment = environmentOf(model);
  const output = summarize(environment);
  await expect.poll(() => model.requests.length).toBe(1);
  environment.runtime.aborts.interrupt(EXECUTION, '');
  const first = await Promise.race([output, new Promise((resolve) => setImmediate(() => resolve('still going on')))]);
  expect(first).toBe('still going on');
  environment.cancel();
  await output;
});
