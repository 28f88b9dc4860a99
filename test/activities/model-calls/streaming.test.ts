import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { summarizeActivity } from '../../../activities/model-calls/summarize.ts';
import { WorkerStreams } from '../../../activities/streams/worker-streams.ts';
import { contentFilter, defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { ModelCallContext, ModelClient } from '../../../src/core/domain/model.ts';
import type { CallModelInput, CallModelOutput } from '../../../src/core/protocol.ts';
import { callTool, failWith, hang, malformed, say, type ScriptEntry, scriptedModel, together } from '../../../src/testing/index.ts';
import { type FakeSink, fakeSink, folded, PLAIN, type Published } from '../../fakes/fake-sink.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, EXECUTION, type ActivityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';
import { propertyRuns } from '../../property-runs.ts';

const plain = defineAgent({ name: 'bot', model: 'scripted/m' });

interface Streaming {
  environment: ActivityEnvironment;
  sink: FakeSink;
  callModel: (input?: Partial<CallModelInput>) => Promise<CallModelOutput>;
}

interface StreamingOptions extends EnvironmentOptions {
  agent?: AnyAgent;
  publish?: (published: Published) => void;
}

function streaming(model: ModelClient, { agent = plain, publish, ...options }: StreamingOptions = {}): Streaming {
  const sink = fakeSink(publish === undefined ? {} : { publish });
  const streams = new WorkerStreams(sink, () => undefined);
  streams.open('default', PLAIN);
  const environment = activityEnvironment({ agents: [agent], model, streams, ...options });
  const snapshot = snapshotOf(agent);
  environment.runtime.snapshots.add(snapshot);
  const asked = { agent: snapshot.digest, through: 1, lastEventId: 'e0' };
  const callModel = (input = {}): Promise<CallModelOutput> =>
    environment.run(callModelActivity(environment.runtime), { ...asked, ...input });
  return { environment, sink, callModel };
}

/** The id of the event that records an output. */
function eventIdOf(output: CallModelOutput): string | undefined {
  if (output.type === 'response') return output.response.id;
  return output.type === 'aborted' ? output.partial?.id : undefined;
}

test('an attempt announces itself, and streams its answer under the id of its event', async () => {
  const { sink, callModel } = streaming(
    scriptedModel([together(say('I look', { reasoning: 'hm' }), callTool('search', { q: 'moon' }, 'c1'))]),
  );
  const output = await callModel();
  const eventId = eventIdOf(output) ?? '';
  const [first, ...rest] = sink.entries('run-1');
  expect(first).toEqual({ type: 'attempt', of: { executionId: 'execution-1', eventId, through: 1, activity: 0, attempt: 1 } });
  expect(folded(rest)).toEqual({
    [eventId]: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'I look' },
      { type: 'tool_input', callId: 'c1', toolName: 'search', text: '{"q":"moon"}' },
    ],
  });
  expect(sink.published.every(({ runId, activity }) => runId === 'run-1' && activity?.live === false)).toBe(true);
});

describe('what may be an answer that has to pass something first', () => {
  const search = defineTool({ name: 'search', description: 'Finds', parameters: z.object({ q: z.string() }), execute: () => null });
  const guardrails = [contentFilter({ type: 'output', keywords: ['secret'] })];
  const common = { name: 'bot', model: 'scripted/m', tools: [search] } as const;
  const guarded = defineAgent({ ...common, guardrails });
  const typed = { output: z.object({ a: z.string() }) };
  const code = { code: { executor: quickjs() } };
  const argumentsOf = [{ type: 'tool_input', callId: 'c1', toolName: 'search', text: '{"q":"x"}' }];
  const reply = say('The secret', { reasoning: 'The secret?' });
  const input = contentFilter({ type: 'input', keywords: ['secret'] });

  test.each<[what: string, AnyAgent, ScriptEntry, shown: object[]]>([
    ['text', guarded, reply, []],
    ['text with calls', guarded, together(reply, callTool('search', { q: 'x' }, 'c1')), argumentsOf],
    ['two calls', guarded, together(reply, callTool('search', { q: 'x' }, 'c1'), callTool('nothing', { q: 'y' }, 'c2')), argumentsOf],
    ['a call that no tool has', guarded, callTool('nothing', { a: 'secret' }), []],
    ['a refusal', guarded, say('', { refusal: 'secret' }), []],
    ['an answer in JSON', defineAgent({ ...common, guardrails, replyFormat: 'json' }), say('{"answer":"secret"}'), []],
    ['an answer with a schema', defineAgent({ ...common, guardrails, ...typed }), say('{"a":"secret"}'), []],
    ['an answer by a call', defineAgent({ ...common, guardrails, ...typed }), callTool('final_answer', { output: { a: 'secret' } }), []],
    ['code', defineAgent({ ...common, guardrails, ...code }), callTool('run_code', { code: '"secret"' }), []],
    ['code in a block', defineAgent({ ...common, guardrails, ...code, replyFormat: 'code' }), say('```js\n"secret"\n```'), []],
    ['the text of an agent with other guardrails besides', defineAgent({ ...common, guardrails: [input, ...guardrails] }), reply, []],
    [
      'nothing: the guardrails are for messages alone',
      defineAgent({ ...common, guardrails: [input] }),
      reply,
      [
        { type: 'reasoning', text: 'The secret?' },
        { type: 'text', text: 'The secret' },
      ],
    ],
  ])('of %s, no piece is published', async (_, agent, entry, shown) => {
    const { sink, callModel } = streaming(scriptedModel([entry]), { agent });
    await callModel();
    const [first, ...rest] = sink.entries('run-1');
    expect(first).toMatchObject({ type: 'attempt' });
    expect(Object.values(folded(rest)).flat()).toEqual(shown);
  });

  test('the rest of an attempt that is cut off is not published either', async () => {
    const { environment, sink, callModel } = streaming(scriptedModel([hang('The secret')]), { agent: guarded });
    const calling = callModel();
    await vi.waitFor(() => expect(sink.entries('run-1')).toHaveLength(1));
    environment.runtime.aborts.abort(EXECUTION);
    await calling;
    expect(folded(sink.entries('run-1'))).toEqual({});
  });
});

test('a text that is calls of tools is not streamed as text, and one that only begins like a call is, once that is known', async () => {
  const search = defineTool({ name: 'search', description: 'Finds', parameters: z.object({ q: z.string() }), execute: () => null });
  const agent = defineAgent({ name: 'bot', model: 'scripted/m', tools: [search] });
  const pieces = ['\n<tool', '_call>{"name":"search",', '"arguments":{"q":"x"}}</tool_call>'];
  const answered = async (...texts: string[]): Promise<[content: unknown[], shown: object[]]> => {
    const model: ModelClient = {
      capabilities: { structuredOutput: false },
      call: (_, { onDelta }) => {
        for (const text of texts) onDelta?.({ type: 'text', text });
        return Promise.resolve({ content: texts.join(''), toolCalls: [], usage: null, finishReason: 'stop' });
      },
    };
    const { sink, callModel } = streaming(model, { agent });
    const output = await callModel();
    const { content } = output.type === 'response' ? output.response : { content: [] };
    return [content, Object.values(folded(sink.entries('run-1'))).flat()];
  };
  const [calls, nothing] = await answered(...pieces);
  expect([calls, nothing]).toEqual([[expect.objectContaining({ type: 'tool_call', name: 'search' })], []]);
  const text = [...pieces, ' is a call'];
  expect((await answered(...text))[1]).toEqual([{ type: 'text', text: text.join('') }]);
  expect((await answered('<tool', 's> are fine'))[1]).toEqual([{ type: 'text', text: '<tools> are fine' }]);
});

test('the text of a JSON reply is not streamed, because only a value in it is the answer; its reasoning is', async () => {
  const tool = defineTool({ name: 'f', description: 'Does nothing', parameters: z.object({}), execute: () => null });
  const agent = defineAgent({ name: 'bot', model: 'scripted/m', replyFormat: 'json', tools: [tool] });
  const { sink, callModel } = streaming(scriptedModel([say('{"answer":"Two orders"}', { reasoning: 'I count' })]), { agent });
  const eventId = eventIdOf(await callModel()) ?? '';
  expect(folded(sink.entries('run-1'))).toEqual({ [eventId]: [{ type: 'reasoning', text: 'I count' }] });
});

describe('the recorded event has the id that was streamed', () => {
  const tool = defineTool({ name: 'f', description: 'Does nothing', parameters: z.object({}), execute: () => null });
  const json = defineAgent({ name: 'bot', model: 'scripted/m', replyFormat: 'json', tools: [tool] });
  const code = defineAgent({ name: 'bot', model: 'scripted/m', replyFormat: 'code', tools: [tool], code: { executor: quickjs() } });

  test.each([
    ['text', plain, 'A'],
    ['a call in JSON', json, '{"tool":"f","arguments":{}}'],
    ['an answer in JSON', json, '{"answer":1}'],
    ['notes in JSON', json, '{"scratchpad":"x"}'],
    ['no JSON', json, 'oops'],
    ['code', code, '```js\n1\n```'],
    ['no code', code, 'oops'],
  ])('of %s', async (_, agent, text) => {
    for (const final of [false, true]) {
      const { sink, callModel } = streaming(scriptedModel([say(text)]), { agent });
      const eventId = eventIdOf(await callModel(final ? { final } : {}));
      expect(sink.entries().map((entry) => ('of' in entry ? entry.of.eventId : undefined))).toContain(eventId);
      expect(Object.keys(folded(sink.entries()))).toEqual(agent === json ? [] : [eventId]);
    }
  });

  test('whatever the model answers, in every format', async () => {
    const calls = fc.array(fc.record({ id: fc.option(fc.string()), name: fc.string(), arguments: fc.anything() }), { maxLength: 3 });
    const answers = fc.record({ content: fc.anything(), toolCalls: calls, structured: fc.anything(), refusal: fc.anything() });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(plain, json, code), answers, fc.boolean(), async (agent, answer, final) => {
        const { sink, callModel } = streaming(scriptedModel([malformed(answer)]), { agent });
        const output = await callModel(final ? { final } : {}).catch((error: unknown) => error);
        // Some of them answer nothing.
        const of = output instanceof Error ? {} : { eventId: eventIdOf(output as CallModelOutput) };
        expect(output instanceof Error ? output : { type: 'model_no_answer' }).toMatchObject({ type: 'model_no_answer' });
        expect(sink.entries()).toMatchObject([{ type: 'attempt', of }]);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  test('of the part of an answer that was interrupted', async () => {
    const model = scriptedModel([hang('half')]);
    const { environment, sink, callModel } = streaming(model);
    const output = callModel();
    await expect.poll(() => model.requests.length).toBe(1);
    environment.runtime.aborts.interrupt(EXECUTION, '');
    const eventId = eventIdOf(await output) ?? '';
    expect(folded(sink.entries())).toEqual({ [eventId]: [{ type: 'text', text: 'half' }] });
  });

  test('of a cancelled call that was not resent, but whose earlier attempt was paid for', async () => {
    const spent = { estimated: { promptTokens: 4, completionTokens: 1, totalTokens: 5 } };
    const { environment, sink, callModel } = streaming(scriptedModel([]), { heartbeatDetails: { spent } });
    environment.cancel();
    const eventId = eventIdOf(await callModel());
    expect(eventId).toBeDefined();
    expect(sink.entries()).toMatchObject([{ type: 'attempt', of: { eventId } }]);
  });
});

test('every attempt has its own id, and its number', async () => {
  const first = streaming(scriptedModel([failWith('model_unreachable')]), { info: { attempt: 1 } });
  await expect(first.callModel()).rejects.toMatchObject({ type: 'model_unreachable' });
  const second = streaming(scriptedModel([say('A')]), { info: { attempt: 2 } });
  const eventId = eventIdOf(await second.callModel());
  expect(second.sink.entries()[0]).toMatchObject({ type: 'attempt', of: { eventId, attempt: 2 } });
  const [one] = first.sink.entries();
  expect(one).toMatchObject({ type: 'attempt', of: { attempt: 1 } });
  expect(one).not.toMatchObject({ of: { eventId } });
});

test('a run inside a workflow of the user is not streamed, and neither is a summary', async () => {
  const answers = { 'key.transcript': { type: 'window', through: 1, lastEventId: 'e0', from: 0, total: 0, events: [] } };
  const inline = streaming(scriptedModel([say('A')]), { answers });
  await inline.callModel({ run: 'key' });
  expect(inline.sink.published).toEqual([]);
  const { environment, sink } = streaming(scriptedModel([say('summed up')]));
  const input = { agent: snapshotOf(plain).digest, through: 1, lastEventId: 'e0', head: -1, tail: null, maxBytes: 1_000 };
  await environment.run(summarizeActivity(environment.runtime), input);
  expect(sink.published).toEqual([]);
});

test('whatever a model client reports, its call succeeds', async () => {
  let late: ModelCallContext['onDelta'];
  const hostile: ModelClient = {
    capabilities: { structuredOutput: true },
    call: async (_, { onDelta }) => {
      const report = onDelta as (...given: unknown[]) => void;
      late = onDelta;
      for (const given of [undefined, null, 7, 'x', [], {}, { type: 'text', text: 7 }, { type: 'image', text: 'x' }]) report(given);
      report();
      report({ type: 'text', text: 'A'.repeat(1_000_000) });
      report({ type: 'tool_input', callId: {}, toolName: [], text: '{' });
      report({ type: 'text', text: 'B' });
      return { content: 'B', toolCalls: [], usage: null, finishReason: 'stop' };
    },
  };
  const { sink, callModel } = streaming(hostile);
  const eventId = eventIdOf(await callModel()) ?? '';
  late?.({ type: 'text', text: 'late' });
  expect(folded(sink.entries())).toEqual({ [eventId]: [{ type: 'text', text: 'B' }] });
});

test('the details of the stream of a call are sent along with its cost until it ends, and the next attempt reads the cost', async () => {
  const reported = { promptTokens: 7, completionTokens: 2, totalTokens: 9 };
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    call: async (_, { onDelta, onUsage }) => {
      onUsage?.(reported);
      onDelta?.({ type: 'text', text: 'A' });
      throw Object.assign(new Error('broken'), { code: 'ECONNRESET' });
    },
  };
  const { environment, sink, callModel } = streaming(model, { publish: ({ entry, activity }) => activity?.heartbeat({ of: entry.type }) });
  await expect(callModel()).rejects.toMatchObject({ details: [{ spent: { reported } }] });
  const sent = (type: string): object => ({ 'longhaul:stream': { of: type }, details: { spent: { reported } } });
  expect(environment.heartbeats).toEqual([{ 'longhaul:stream': { of: 'attempt' } }, sent('delta'), sent('delta')]);
  sink.published[0]?.activity?.heartbeat({ of: 'late' });
  expect(environment.heartbeats).toHaveLength(3);

  const next = streaming(scriptedModel([say('A')]), { heartbeatDetails: environment.heartbeats.at(-1) });
  expect(await next.callModel()).toHaveProperty('response.failedAttempts', { reported });
});

describe('reasoning at the beginning of an answer', () => {
  /** A client that reports its answer in pieces of some characters, or not at all. */
  function clientOf(content: string, size: number): ModelClient {
    return {
      capabilities: { structuredOutput: true },
      call: async (_, { onDelta }) => {
        const pieces = size === 0 ? [] : (content.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []);
        for (const text of pieces) onDelta?.({ type: 'text', text });
        return { content, toolCalls: [], usage: null, finishReason: 'stop' };
      },
    };
  }

  const ANSWER = '<think>\nIs it four?\n</think>\n\nFour <b>hours</b>.';

  test.each([1, 2, 3, 5, 7, 11, 100, 0])(
    'is streamed as reasoning, and is not part of the answer: pieces of %i characters',
    async (size) => {
      const { sink, callModel } = streaming(clientOf(ANSWER, size));
      const output = await callModel();
      const eventId = eventIdOf(output) ?? '';
      expect(output).toMatchObject({ response: { content: [{ type: 'message', content: 'Four <b>hours</b>.' }] } });
      expect(folded(sink.entries('run-1').slice(1))[eventId]).toEqual([
        { type: 'reasoning', text: '\nIs it four?\n' },
        ...(size === 0 ? [] : [{ type: 'text', text: 'Four <b>hours</b>.' }]),
      ]);
    },
  );

  test('is text if the agent says so', async () => {
    const agent = defineAgent({ name: 'bot', model: 'scripted/m', settings: { thinkTags: 'text' } });
    const { sink, callModel } = streaming(clientOf(ANSWER, 4), { agent });
    const output = await callModel();
    expect(output).toMatchObject({ response: { content: [{ type: 'message', content: ANSWER }] } });
    expect(folded(sink.entries('run-1').slice(1))[eventIdOf(output) ?? '']).toEqual([{ type: 'text', text: ANSWER }]);
  });

  test('that does not end leaves no answer, and similar text is not reasoning', async () => {
    const { callModel } = streaming(clientOf('<think>Is it', 3));
    await expect(callModel()).rejects.toMatchObject({
      type: 'model_no_answer',
      message: 'The answer of model "m" has reasoning alone (finish reason "stop")',
    });
    const like = streaming(clientOf('<thi', 1));
    const output = await like.callModel();
    expect(output).toMatchObject({ response: { content: [{ type: 'message', content: '<thi' }] } });
    expect(folded(like.sink.entries('run-1').slice(1))[eventIdOf(output) ?? '']).toEqual([{ type: 'text', text: '<thi' }]);
  });

  test('is not part of a summary', async () => {
    const { environment } = streaming(clientOf('<think>hm</think>They spoke.', 4));
    const snapshot = snapshotOf(plain);
    const asked = { agent: snapshot.digest, through: 1, lastEventId: 'e0', head: null, tail: null, maxBytes: 1_000 };
    expect(await environment.run(summarizeActivity(environment.runtime), asked)).toMatchObject({ text: 'They spoke.' });
  });
});
