import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { buildSnapshot } from '../../../activities/agents/build-snapshot.ts';
import { modelsOfAgent } from '../../../activities/agents/resolve-agent.ts';
import { WorkerGovernor } from '../../../activities/governor/worker-governor.ts';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { summarizeActivity } from '../../../activities/model-calls/summarize.ts';
import { WorkerStreams } from '../../../activities/streams/worker-streams.ts';
import { type ErrorCode, ModelCallError } from '../../../src/core/domain/errors.ts';
import { MOVES_ON } from '../../../src/core/domain/fallback.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse, RecordedResponse } from '../../../src/core/domain/model.ts';
import type { ModelPrice } from '../../../src/core/domain/usage.ts';
import type { Folded } from '../../../src/core/domain/window.ts';
import type { CallModelInput, CallModelOutput } from '../../../src/core/protocol.ts';
import { type AgentOptions, defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { fakeSink, folded, PLAIN } from '../../fakes/fake-sink.ts';
import { activityEnvironment, type ActivityEnvironment, EXECUTION, type EnvironmentOptions } from '../activity-environment.ts';

/** What a model of a test does with one call: it throws, or answers with a text. */
type Act = (context: ModelCallContext, request: ModelRequest) => string | Partial<ModelResponse> | Promise<string | Partial<ModelResponse>>;

/** A provider with several models. Each model does the same in every call. */
interface Provider extends ModelClient {
  /** The models in the order they were called. */
  asked: string[];
  requests: ModelRequest[];
}

const USAGE = { promptTokens: 100, completionTokens: 10, totalTokens: 110 };

function providerOf(acts: Record<string, Act>, capabilities: ModelClient['capabilities'] = { structuredOutput: true }): Provider {
  const asked: string[] = [];
  const requests: ModelRequest[] = [];
  return {
    asked,
    requests,
    capabilities,
    // Each test has its own provider, and no calls that wait for one another.
    rateLimitKey: () => undefined,
    call: async (request, context) => {
      asked.push(request.model);
      requests.push(structuredClone(request));
      const given = await acts[request.model]?.(context, request);
      const answer = { content: '', toolCalls: [], usage: USAGE, finishReason: 'stop' };
      return typeof given === 'string' ? { ...answer, content: given } : { ...answer, ...given };
    },
  };
}

const fails =
  (code: ErrorCode, options: { retryAfterMs?: number } = {}): Act =>
  () => {
    throw new ModelCallError(code, `it said ${code}`, options);
  };

/** Streams half of an answer, with its usage, and fails then. */
const breaks =
  (code: ErrorCode): Act =>
  ({ onDelta, onUsage }) => {
    onDelta?.({ type: 'text', text: 'half ' });
    onUsage?.(USAGE);
    throw new ModelCallError(code, `it said ${code}`);
  };

const answers = (): string => 'whole';

interface Called {
  environment: ActivityEnvironment;
  provider: Provider;
  call: (input?: Partial<CallModelInput>) => Promise<CallModelOutput>;
  summarize: () => Promise<unknown>;
}

interface CallOptions extends Omit<EnvironmentOptions, 'prices'> {
  agent?: Partial<AgentOptions<never, never>>;
  capabilities?: ModelClient['capabilities'];
  prices?: Record<string, ModelPrice>;
}

function calling(acts: Record<string, Act>, { agent: changes, capabilities, prices, ...options }: CallOptions = {}): Called {
  const model = Object.keys(acts).map((name) => `scripted/${name}` as const);
  const agent = defineAgent({ name: 'bot', model, ...changes });
  const provider = providerOf(acts, capabilities);
  const environment = activityEnvironment({ agents: [agent], model: provider, ...options });
  const snapshot = buildSnapshot(agent, {
    instructions: [],
    ...modelsOfAgent(agent, environment.runtime.registry),
    heartbeatMs: 5_000,
    searchAttributes: false,
    prices,
  });
  environment.runtime.snapshots.add(snapshot);
  const asked = { agent: snapshot.digest, through: options.events?.length ?? 1, lastEventId: options.events?.at(-1)?.id ?? 'e0' };
  return {
    environment,
    provider,
    call: (input = {}) => environment.run(callModelActivity(environment.runtime), { ...asked, ...input }),
    summarize: () => environment.run(summarizeActivity(environment.runtime), { ...asked, head: -1, tail: null, maxBytes: 1_000 }),
  };
}

function responseOf(output: CallModelOutput): RecordedResponse {
  if (output.type !== 'response') throw new Error('it was aborted');
  return output.response;
}

async function failureOf(failing: Promise<unknown>): Promise<{ type: string; message: string; nonRetryable: boolean; details: unknown[] }> {
  const failure: unknown = await failing.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
  return failure as { type: string; message: string; nonRetryable: boolean; details: unknown[] };
}

/** The codes of failures of a model call that do not mean that another model shall be asked. */
const STAYS: ErrorCode[] = [
  'model_bad_request',
  'model_request_too_large',
  'model_unprocessable',
  'model_error',
  'context_length_exceeded',
  'content_filter',
  'payload_too_large',
];

describe.each([
  ['before the first byte', fails],
  ['in the middle of the answer', breaks],
])('a model that fails %s', (when, failing) => {
  const isPaid = when !== 'before the first byte';

  test.each(MOVES_ON.map((code) => [code]))('with %s is followed by the next one, in the same attempt', async (code) => {
    const { provider, call } = calling({ a: failing(code), b: answers });
    const { content, answeredBy, tried, failedAttempts } = responseOf(await call());
    expect(provider.asked).toEqual(['a', 'b']);
    expect(content).toEqual([{ type: 'message', role: 'assistant', content: 'whole' }]);
    expect({ answeredBy, tried }).toEqual({ answeredBy: 'scripted/b', tried: [{ model: 'scripted/a', code }] });
    expect(failedAttempts).toEqual(isPaid ? { reported: USAGE } : undefined);
  });

  test.each(STAYS.map((code) => [code]))('with %s is the last one', async (code) => {
    const { provider, call } = calling({ a: failing(code), b: answers });
    expect(await failureOf(call())).toMatchObject({ type: code, message: `it said ${code}`, nonRetryable: true });
    expect(provider.asked).toEqual(['a']);
  });

  test('is followed for the failures that the agent names, and for no others', async () => {
    const agent = { fallback: { on: ['model_bad_request' as const] } };
    const named = calling({ a: failing('model_bad_request'), b: answers }, { agent });
    expect(responseOf(await named.call()).answeredBy).toBe('scripted/b');
    const other = calling({ a: failing('model_server_error'), b: answers }, { agent });
    expect(await failureOf(other.call())).toMatchObject({ type: 'model_server_error' });
  });
});

test('a refusal and an answer that was filtered are answers: no other model is asked', async () => {
  const refuses = calling({ a: () => ({ refusal: 'No.' }), b: answers });
  expect(responseOf(await refuses.call())).toMatchObject({ refusal: 'No.' });
  const filters = calling({ a: () => ({ content: '', finishReason: 'content_filter' }), b: answers });
  expect(await failureOf(filters.call())).toMatchObject({ type: 'content_filter' });
  expect([refuses.provider.asked, filters.provider.asked]).toEqual([['a'], ['a']]);
});

test('an empty answer is paid for, and the next model is asked', async () => {
  const { call } = calling({ a: () => '', b: answers });
  const { tried, failedAttempts } = responseOf(await call());
  expect({ tried, failedAttempts }).toEqual({
    tried: [{ model: 'scripted/a', code: 'model_no_answer' }],
    failedAttempts: { reported: USAGE },
  });
});

test('an answer of the first model says nothing about the list', async () => {
  const { call } = calling({ a: answers, b: answers });
  expect(Object.keys(responseOf(await call()))).toEqual(['id', 'content', 'finishReason', 'usage']);
});

test('if all models fail, the message names all, and the code of the last one decides about retries', async () => {
  const temporary = calling({ a: fails('model_unauthorized'), b: fails('model_server_error') });
  expect(await failureOf(temporary.call())).toMatchObject({
    type: 'model_server_error',
    nonRetryable: false,
    message:
      'No model has answered. "scripted/a" model_unauthorized: it said model_unauthorized · "scripted/b" model_server_error: it said model_server_error',
  });
  const final = calling({ a: fails('model_server_error'), b: fails('model_not_found') });
  expect(await failureOf(final.call())).toMatchObject({ type: 'model_not_found', nonRetryable: true });
});

test('the wait before the next attempt is the shortest that a provider asks for', async () => {
  const { call } = calling({
    a: fails('model_rate_limited', { retryAfterMs: 2_000 }),
    b: fails('model_rate_limited', { retryAfterMs: 3_600_000 }),
  });
  const failure = (await failureOf(call())) as { nonRetryable: boolean; nextRetryDelay?: number };
  expect(failure.nonRetryable).toBe(false);
  expect(failure.nextRetryDelay).toBeGreaterThanOrEqual(2_000);
  expect(failure.nextRetryDelay).toBeLessThan(60_000);
});

describe('the order of the models', () => {
  test('a model that has just failed is tried last, and in its usual place once it has cooled down', async () => {
    const acts = { a: fails('model_server_error'), b: answers };
    const { provider, call } = calling(acts, { agent: { fallback: { coolDown: 60_000 } } });
    await call();
    expect(responseOf(await call())).toMatchObject({
      answeredBy: 'scripted/b',
      skipped: [{ model: 'scripted/a', reason: 'cooling_down' }],
    });
    expect(provider.asked).toEqual(['a', 'b', 'b']);
    const cooled = calling(acts, { agent: { fallback: { coolDown: 0 } } });
    await cooled.call();
    await cooled.call();
    expect(cooled.provider.asked).toEqual(['a', 'b', 'a', 'b']);
  });

  test('a model that cools down is asked nevertheless if no other one answers', async () => {
    let isDown = true;
    const { provider, call } = calling({
      a: () => (isDown ? fails('model_server_error')({} as ModelCallContext, {} as ModelRequest) : 'whole'),
      b: () => (isDown ? 'whole' : fails('model_unreachable')({} as ModelCallContext, {} as ModelRequest)),
    });
    await call();
    isDown = false;
    expect(responseOf(await call())).toMatchObject({ tried: [{ model: 'scripted/b', code: 'model_unreachable' }] });
    expect(provider.asked).toEqual(['a', 'b', 'b', 'a']);
  });

  test('failures that say nothing about the provider cool nothing down', async () => {
    const { provider, call } = calling({ a: () => '', b: answers });
    await call();
    await call();
    expect(provider.asked).toEqual(['a', 'b', 'a', 'b']);
  });

  /** An answer of a model, and the result of its call. */
  const step = (number: number, answeredBy?: string): Folded[] => [
    {
      id: `c${number}`,
      author: 'bot',
      content: [{ type: 'tool_call', toolCallId: `call ${number}`, name: 'look', arguments: { number } }],
      ...(answeredBy === undefined ? {} : { answeredBy }),
      providerItems: [{ by: answeredBy ?? 'scripted/a' }, `reasoning ${number}`],
    },
    {
      id: `r${number}`,
      author: 'bot',
      content: [{ type: 'tool_result', toolCallId: `call ${number}`, name: 'look', status: 'success', content: [`seen ${number}`] }],
    },
  ];
  const question: Folded = { id: 'q', author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] };

  test('the model that has answered in a turn makes all of its calls, and the first one begins the next turn', async () => {
    const events = [question, ...step(1), ...step(2, 'scripted/b')];
    const { provider, call } = calling({ a: answers, b: answers, c: answers }, { events });
    expect(responseOf(await call())).toMatchObject({ answeredBy: 'scripted/b' });
    expect(responseOf(await call({ firstStep: true }))).not.toHaveProperty('answeredBy');
    expect(provider.asked).toEqual(['b', 'a']);
  });

  test('the answers of another agent of the run do not count', async () => {
    const events = [question, ...step(1, 'scripted/b').map((event) => ({ ...event, author: 'other' }))];
    const { provider, call } = calling({ a: answers, b: answers }, { events });
    await call();
    expect(provider.asked).toEqual(['a']);
  });

  test('each model gets its own items back, and no items of another', async () => {
    const events = [question, ...step(1), ...step(2, 'scripted/b')];
    const { provider, call } = calling({ a: answers, b: fails('model_server_error'), c: answers }, { events });
    await call();
    const items = provider.requests.map(({ conversation }) => conversation.flatMap(({ providerItems = [] }) => providerItems));
    expect(provider.asked).toEqual(['b', 'a']);
    expect(items).toEqual([['reasoning 2'], ['reasoning 1']]);
  });

  test('a model that gets its reasoning back is shown, as text, the calls that others made since the last answer', async () => {
    const answer: Folded = { id: 'w', author: 'bot', content: [{ type: 'message', role: 'assistant', content: 'Done.' }] };
    const noted = step(3, 'scripted/b').map((event) => ({
      ...event,
      content: event.content.map((item) => (item.type === 'tool_result' ? { ...item, notes: ['mind the gap'] } : item)),
    }));
    const events = [question, ...step(1, 'scripted/b'), answer, { ...question, id: 'q2' }, ...step(2), ...noted];
    const { provider, call } = calling({ a: answers, b: fails('model_server_error') }, { events });
    await call();
    const [, toFirst] = provider.requests;
    expect(toFirst?.conversation.flatMap(({ content }) => content)).toEqual([
      ...[question, ...step(1), answer, question, ...step(2)].flatMap(({ content }) => content),
      { type: 'message', role: 'assistant', content: '[look was called with {"number":3}]' },
      { type: 'message', role: 'user', content: '[look returned: seen 3]\nAbout the call of "look" (call 3): mind the gap' },
    ]);
  });

  test('calls that a model was shown before it had sent any reasoning do not change', async () => {
    const events = [question, ...step(1), ...step(2, 'scripted/b')];
    const { provider, call } = calling({ a: answers, b: answers }, { events });
    await call();
    expect(provider.asked).toEqual(['b']);
    expect(provider.requests[0]?.conversation.flatMap(({ content }) => content)).toEqual(events.flatMap(({ content }) => content));
  });

  test('with "returnAt: call" the first model is tried in each call, and shown the calls of others as text', async () => {
    const bare = step(1, 'scripted/b').map(({ providerItems: _, ...event }) => event);
    const agent = { fallback: { returnAt: 'call' as const } };
    const { provider, call } = calling({ a: answers, b: answers }, { events: [question, ...bare], agent });
    await call();
    expect(provider.asked).toEqual(['a']);
    expect(provider.requests[0]?.conversation.at(-1)?.content).toEqual([
      { type: 'message', role: 'user', content: '[look returned: seen 1]' },
    ]);
  });

  test('media in the results of such calls follow their text as media', async () => {
    const image = { type: 'image', data: 'AAAA', mediaType: 'image/png' };
    const [asked, result] = step(1, 'scripted/b');
    const seen = { ...result!, content: result!.content.map((item) => ({ ...item, content: ['seen', image] })) } as Folded;
    const agent = { fallback: { returnAt: 'call' as const } };
    const { provider, call } = calling({ a: answers, b: answers }, { events: [question, asked!, seen], agent });
    await call();
    expect(provider.requests[0]?.conversation.at(-1)?.content).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'text', text: '[look returned: seen\n[Image]]' }, image] },
    ]);
  });

  test('in a reply format the calls of others are written as the replies that they were, because no call is native', async () => {
    const events = [question, ...step(1), ...step(2, 'scripted/b')];
    const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({ number: z.number() }), execute: () => 'seen' });
    const agent = { replyFormat: 'json', tools: [look] as never } as const;
    const { provider, call } = calling({ a: answers, b: fails('model_server_error') }, { events, agent });
    await call();
    const [, toFirst] = provider.requests;
    expect(toFirst?.conversation.map(({ content: [item] }) => (item?.type === 'message' ? item.content : item))).toEqual([
      'Q',
      '{"tool":"look","arguments":{"number":1}}',
      'Observation: seen 1',
      '{"tool":"look","arguments":{"number":2}}',
      'Observation: seen 2',
    ]);
  });

  test('a model whose context has no room for the request is skipped', async () => {
    const large: Folded = { ...question, content: [{ type: 'message', role: 'user', content: 'x'.repeat(600_000) }] };
    const model = ['scripted/gpt-4o', 'scripted/claude-x'] as const;
    const { provider, call } = calling({ 'gpt-4o': answers, 'claude-x': answers }, { events: [large], agent: { model } });
    expect(responseOf(await call())).toMatchObject({
      answeredBy: 'scripted/claude-x',
      skipped: [{ model: 'scripted/gpt-4o', reason: 'too_small' }],
    });
    expect(provider.asked).toEqual(['claude-x']);
  });

  test('if it fits no model, the largest one is called: sizes are estimated', async () => {
    const large: Folded = { ...question, content: [{ type: 'message', role: 'user', content: 'x'.repeat(900_000) }] };
    const { provider, call } = calling({ 'gpt-4o': answers, 'claude-x': answers }, { events: [large] });
    await call();
    expect(provider.asked).toEqual(['claude-x']);
  });

  test('a conversation that is too long is shortened first, and a larger model is asked then', async () => {
    const { provider, call } = calling({ 'gpt-4o': fails('context_length_exceeded'), o1: answers, 'gpt-4o-mini': answers });
    expect(await failureOf(call())).toMatchObject({ type: 'context_length_exceeded' });
    expect(responseOf(await call({ shortened: true }))).toMatchObject({
      answeredBy: 'scripted/o1',
      tried: [{ model: 'scripted/gpt-4o', code: 'context_length_exceeded' }],
    });
    expect(provider.asked).toEqual(['gpt-4o', 'gpt-4o', 'o1']);
  });
});

describe('the cost of a list', () => {
  const prices = { 'scripted/a': { input: 10, output: 100 }, 'scripted/b': { input: 1, output: 10 } };
  /** 100 tokens in and 10 out, by the price of "a". */
  const byFirst = (100 * 10 + 10 * 100) / 1_000_000;

  test('half of an answer is priced by the model that gave it', async () => {
    const { call } = calling({ a: breaks('model_unreachable'), b: breaks('model_unreachable'), c: answers }, { prices });
    const byBoth = byFirst + (100 * 1 + 10 * 10) / 1_000_000;
    const { failedAttempts } = responseOf(await call());
    expect(failedAttempts).toEqual({
      reported: { promptTokens: 200, completionTokens: 20, totalTokens: 220, costUsd: expect.closeTo(byBoth, 12) },
    });
  });

  test('the next attempt, on another worker, continues the count of the previous one', async () => {
    const first = calling({ a: breaks('model_unreachable'), b: fails('model_server_error') }, { prices });
    const { details } = await failureOf(first.call());
    const [heartbeat] = first.environment.heartbeats;
    expect(details).toMatchObject([{ spent: { reported: { ...USAGE, costUsd: byFirst } } }]);
    const second = calling({ a: answers, b: answers }, { prices, heartbeatDetails: heartbeat, info: { attempt: 2 } });
    expect(responseOf(await second.call()).failedAttempts).toEqual({ reported: { ...USAGE, costUsd: byFirst } });
  });

  test('a summary is made by the list, unless the agent names a model for it', async () => {
    const listed = calling({ a: breaks('model_server_error'), b: () => 'So far.' }, { prices });
    expect(await listed.summarize()).toMatchObject({
      text: 'So far.',
      answeredBy: 'scripted/b',
      failedAttempts: { reported: { costUsd: byFirst } },
    });
    const own = calling(
      { a: () => 'no', b: () => 'no', c: fails('model_not_found') },
      { agent: { window: { summaryModel: 'scripted/c' } } },
    );
    expect(await failureOf(own.summarize())).toMatchObject({ type: 'model_not_found' });
    expect(own.provider.asked).toEqual(['c']);
  });
});

test('a model that does not answer within its part of the time is followed by the next one', async () => {
  const info = { startToCloseTimeoutMs: 100 };
  const hangs: Act = ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const { call } = calling({ a: hangs, b: answers }, { info });
  expect(responseOf(await call()).tried).toEqual([{ model: 'scripted/a', code: 'model_timeout' }]);
});

test('a run that is cancelled asks no further model, and keeps the part that had arrived with its model', async () => {
  const began = Promise.withResolvers<void>();
  const hangs: Act = ({ signal, onDelta }) => {
    onDelta?.({ type: 'text', text: 'half' });
    began.resolve();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  };
  const { environment, provider, call } = calling({ a: fails('model_server_error'), b: hangs, c: answers });
  const output = call();
  await began.promise;
  environment.runtime.aborts.abort(EXECUTION);
  expect(await output).toMatchObject({ type: 'aborted', partial: { answeredBy: 'scripted/b', content: [{ content: 'half' }] } });
  expect(provider.asked).toEqual(['a', 'b']);
});

test('a run that is cancelled while the next model waits for a permit keeps nothing of the failed one except its cost', async () => {
  const limits = { scripted: { requestsPerMinute: 1 } };
  const governor = WorkerGovernor.of({ limits }, { providers: ['scripted'], telemetry: undefined, log: () => undefined });
  const { environment, provider, call } = calling(
    { a: breaks('model_server_error'), b: answers },
    { governor, info: { startToCloseTimeoutMs: 600_000 } },
  );
  const output = call();
  await vi.waitFor(() => expect(provider.asked).toEqual(['a']));
  await delay(20);
  environment.runtime.aborts.abort(EXECUTION);
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  expect(await output).toMatchObject({
    type: 'aborted',
    partial: { answeredBy: 'scripted/b', content: [], usage, failedAttempts: { reported: USAGE } },
  });
  await governor?.close();
});

describe('the live output of a list', () => {
  async function published(first: Act): Promise<{ attempts: string[]; outputs: Record<string, unknown>; eventId: string }> {
    const sink = fakeSink();
    const streams = new WorkerStreams(sink, () => undefined);
    streams.open('default', PLAIN);
    const second: Act = async ({ onDelta }) => {
      await delay(5);
      onDelta?.({ type: 'text', text: 'whole' });
      return 'whole';
    };
    const { call } = calling({ a: first, b: second }, { streams });
    const { id: eventId } = responseOf(await call());
    const entries = sink.entries('run-1');
    const attempts = entries.flatMap((entry) => (entry.type === 'attempt' ? [entry.of.eventId] : []));
    return { attempts, outputs: folded(entries.filter(({ type }) => type === 'delta')), eventId };
  }

  test('the next model replaces a model that had streamed, under the id of the event', async () => {
    const { attempts, outputs, eventId } = await published(breaks('model_unreachable'));
    expect(attempts).toEqual([expect.any(String), eventId]);
    expect(attempts[0]).not.toBe(eventId);
    expect(outputs[eventId]).toEqual([{ type: 'text', text: 'whole' }]);
  });

  test('nothing is retracted for readers who have read nothing', async () => {
    const { attempts, eventId } = await published(fails('model_unreachable'));
    expect(attempts).toEqual([eventId]);
  });

  test('output that a model sends after it has failed is not published', async () => {
    const { outputs, eventId } = await published(({ onDelta }) => {
      setTimeout(() => onDelta?.({ type: 'text', text: 'late' }), 0);
      throw new ModelCallError('model_unreachable', 'broken');
    });
    expect(outputs).toEqual({ [eventId]: [{ type: 'text', text: 'whole' }] });
  });
});
