import * as fc from 'fast-check';
import OpenAI from 'openai';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../../src/index.ts';
import { CompletionChunks } from '../../../src/server/protocols/openai/chat-completions.ts';
import { errorCode } from '../../../src/core/domain/errors.ts';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { generatedRun } from './generated-run.ts';
import { openaiFor, served, ToldRun } from './served-run.ts';
import { propertyRuns } from '../../property-runs.ts';

const ASKED = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Q' }] };

/** A run that says something, looks something up, and answers. */
function lookedUp(): ToldRun {
  return new ToldRun()
    .reasoning('e1', 'Hmm')
    .delta('e1', 'Let me look')
    .answer('e1', 'Let me look', { id: 'c1', name: 'search', arguments: { query: 'x' } })
    .toolResult('c1', 'found: x')
    .step('tool_calls')
    .delta('e2', 'Here ')
    .answer('e2', 'Here it is')
    .step()
    .end('Here it is');
}

async function chunksOf(run: ToldRun, more: object = {}): Promise<ChatCompletionChunk[]> {
  const stream = await openaiFor(served(run).handler).chat.completions.create({ ...ASKED, stream: true, ...more });
  return Array.fromAsync(stream);
}

const textOf = (chunks: readonly ChatCompletionChunk[]): string => chunks.map(({ choices: [one] }) => one?.delta.content ?? '').join('');

test('a completion that is waited for has the answer alone, and never the calls of the agent', async () => {
  const { data: completion, request_id: id } = await openaiFor(served(lookedUp()).handler).chat.completions.create(ASKED).withResponse();
  expect(id).toBe('run-1');
  expect(completion).toMatchObject({
    id: 'run-1',
    object: 'chat.completion',
    model: 'clerk',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Here it is', refusal: null }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });
  expect(completion.choices[0]?.message.tool_calls).toBeUndefined();
});

test('a streamed completion has the text of each step as it arrives, set apart, and reasoning separately', async () => {
  const chunks = await chunksOf(lookedUp());
  expect(chunks.map(({ choices: [one] }) => [one?.delta, one?.finish_reason])).toEqual([
    [{ role: 'assistant', content: '' }, null],
    [{ reasoning_content: 'Hmm' }, null],
    [{ content: 'Let me look' }, null],
    [{ content: '\n\nHere ' }, null],
    [{ content: 'it is' }, null],
    [{}, 'stop'],
  ]);
  expect(chunks.every(({ usage }) => usage === undefined)).toBe(true);
});

test('usage comes last if it is asked for', async () => {
  const chunks = await chunksOf(lookedUp(), { stream_options: { include_usage: true } });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15 } });
  expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
});

test('the stream helper of the package comes to the same text', async () => {
  const stream = openaiFor(served(lookedUp()).handler).chat.completions.stream(ASKED);
  expect(await stream.finalContent()).toBe('Let me look\n\nHere it is');
});

test('text cannot be retracted: after a reset the stream ends with an error, and the same key gives the whole', async () => {
  const run = new ToldRun().delta('e1', 'It is th').reset().delta('e2', 'It was').answer('e2', 'It was four.').end('It was four.');
  const { handler, calls } = served(run);
  const openai = openaiFor(handler);
  const headers = { 'Idempotency-Key': 'k1' };
  const got: string[] = [];
  const follow = async (): Promise<void> => {
    const stream = await openai.chat.completions.create({ ...ASKED, stream: true }, { headers });
    for await (const chunk of stream) got.push(chunk.choices[0]?.delta.content ?? '');
  };
  await expect(follow()).rejects.toMatchObject({ constructor: OpenAI.APIError, code: 'stream_superseded' });
  expect(got.join('')).toBe('It is th');
  expect((await openai.chat.completions.create(ASKED, { headers })).choices[0]?.message.content).toBe('It was four.');
  const [one, other] = calls.map((call) => (call[2] as { runId: string }).runId);
  expect(one).toMatch(/^run-/);
  expect(other).toBe(one);
});

test('a reset before any text changes nothing', async () => {
  const run = new ToldRun().reasoning('e1', 'Hm').reset().delta('e2', 'Four').answer('e2', 'Four').end('Four');
  expect(textOf(await chunksOf(run))).toBe('Four');
});

test('an answer that a reader has got with a gap is whole at its event, also if another event comes before', async () => {
  const run = new ToldRun().delta('e1', 'It ').item({ type: 'gap' }).delta('e1', 'fo');
  run.event('m1', [{ type: 'message', role: 'user', content: 'Be quick' }]);
  run.delta('e1', 'ur').answer('e1', 'It was four').step().end('It was four');
  expect(textOf(await chunksOf(run))).toBe('It was four');
});

test.each([
  [{ status: 'max_iterations_reached', stopReason: 'step_limit' }, 'length'],
  [{ status: 'error', stopReason: 'guardrail', errorCode: 'guardrail_tripped' }, 'content_filter'],
  [{ status: 'error', stopReason: 'error', errorCode: 'content_filter' }, 'content_filter'],
] as const)('a run that ends as %j finishes with "%s"', async (end, reason) => {
  const run = new ToldRun().answer('e1', 'Part').step().end('Part', end);
  expect((await openaiFor(served(run).handler).chat.completions.create(ASKED)).choices[0]?.finish_reason).toBe(reason);
  expect((await chunksOf(run)).at(-1)?.choices[0]?.finish_reason).toBe(reason);
});

test('an answer that the model was cut off in finishes with "length"', async () => {
  const run = new ToldRun().answer('e1', 'Part').step('length').end('Part');
  expect((await openaiFor(served(run).handler).chat.completions.create(ASKED)).choices[0]?.finish_reason).toBe('length');
  expect((await chunksOf(run)).at(-1)?.choices[0]?.finish_reason).toBe('length');
});

test.each([
  [{ status: 'error', stopReason: 'error', errorCode: 'model_unreachable', error: 'no route' }, 503, 'model_unreachable'],
  [{ status: 'error', stopReason: 'error', errorCode: 'invalid_output', error: 'no JSON' }, 500, 'invalid_output'],
  [{ status: 'error', stopReason: 'error', errorCode: 'unknown_agent', error: 'none' }, 404, 'model_not_found'],
  [{ status: 'cancelled', stopReason: 'cancelled', cancelReason: 'enough' }, 409, 'run_cancelled'],
] as const)('a run that ends as %j is the error %s "%s", which no client repeats', async (end, status, code) => {
  const run = new ToldRun().delta('e1', 'Part').end('', end);
  const openai = openaiFor(served(run).handler, { maxRetries: 2 });
  await expect(openai.chat.completions.create(ASKED)).rejects.toMatchObject({ status, code });
  const empty = new ToldRun().end('', end);
  const stream = await openaiFor(served(empty).handler).chat.completions.create({ ...ASKED, stream: true });
  await expect(Array.fromAsync(stream)).rejects.toMatchObject({ constructor: OpenAI.APIError, code });
});

test('a run that waits for a decision is an error which names it, and which only a request with a key repeats', async () => {
  const run = new ToldRun().answer('e1', '', { id: 'c1', name: 'refund', arguments: {} });
  const { handler, calls } = served(run);
  const openai = openaiFor(handler, { maxRetries: 1 });
  const refused = await openai.chat.completions.create(ASKED).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503, code: 'wait_timeout' });
  expect(String(refused)).toContain('waits for a decision about "refund"');
  expect(calls).toHaveLength(1);
  await openai.chat.completions.create(ASKED, { headers: { 'Idempotency-Key': 'k' } }).catch(() => undefined);
  expect(calls).toHaveLength(3);
});

const triage = defineAgent({ name: 'triage', model: 'scripted/m', output: z.object({ urgency: z.string() }) });

test('an answer in JSON is sent alone, as the schema of the agent has it', async () => {
  const run = new ToldRun()
    .delta('e1', 'Let me think')
    .answer('e1', 'Let me think', { id: 'c', name: 'final_answer', arguments: {} })
    .end({ urgency: 'high' });
  const openai = openaiFor(served(run, { agents: [triage] }).handler);
  const schema = { type: 'object', properties: { urgency: { type: 'string' } } };
  const body = { ...ASKED, model: 'triage', response_format: { type: 'json_schema' as const, json_schema: { name: 'x', schema } } };
  expect((await openai.chat.completions.create(body)).choices[0]?.message.content).toBe('{"urgency":"high"}');
  expect(textOf(await Array.fromAsync(await openai.chat.completions.create({ ...body, stream: true })))).toBe('{"urgency":"high"}');
});

test('an answer that is recorded as guarded is not shown before it has passed, also by a service that does not know the agent', async () => {
  const run = new ToldRun()
    .delta('e1', 'The secret is')
    .answer('e1', 'The secret is 7')
    .end('Response blocked', { status: 'error', stopReason: 'guardrail', errorCode: 'guardrail_tripped' })
    .guarded();
  const openai = openaiFor(served(run).handler);
  const chunks = await Array.fromAsync(await openai.chat.completions.create({ ...ASKED, stream: true }));
  expect([textOf(chunks), chunks.at(-1)?.choices[0]?.finish_reason]).toEqual(['Response blocked', 'content_filter']);
  const events = await Array.fromAsync(await openai.responses.create({ model: 'clerk', input: 'Q', stream: true }));
  expect(JSON.stringify(events)).not.toContain('secret is');
});

test('guarded text is sent in its place once the run has continued after it', async () => {
  const run = new ToldRun()
    .answer('e1', 'One')
    .event('m1', [{ type: 'message', role: 'user', content: 'More' }])
    .answer('e2', 'I look', { id: 'c1', name: 'search', arguments: {} })
    .toolResult('c1', 'found')
    .answer('e3', 'Two')
    .guarded()
    .end('Two');
  const stream = await openaiFor(served(run).handler).chat.completions.create({ ...ASKED, stream: true });
  expect(textOf(await Array.fromAsync(stream))).toBe('One\n\nI look\n\nTwo');
});

test('a run is started with the earlier messages, the settings, and calls with their results', async () => {
  const { handler, calls } = served(new ToldRun().end('done'));
  await openaiFor(handler).chat.completions.create({
    model: 'clerk',
    messages: [
      { role: 'developer', content: 'Be short.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
      { role: 'assistant', content: 'It is x' },
      { role: 'user', content: 'And y?' },
    ],
    temperature: 0,
    max_completion_tokens: 50,
    reasoning_effort: 'low',
    n: 1,
    user: 'u-1',
    frequency_penalty: 0,
  });
  expect(calls[0]?.[2]).toMatchObject({
    messages: [
      { type: 'message', role: 'system', content: 'Be short.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', url: 'https://x.test/a.png' },
        ],
      },
      { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: { q: 'x' } },
      { type: 'tool_result', toolCallId: 'c1', name: 'search', content: ['found'] },
      { type: 'message', role: 'assistant', content: 'It is x' },
    ],
    input: 'And y?',
    settings: { temperature: 0, maxOutputTokens: 50, reasoningEffort: 'low' },
  });
});

/** The text of all chunks, or `superseded`. */
function streamed(items: readonly StreamItem[]): string {
  const chunks = new CompletionChunks({ runId: 'run-1', agent: 'clerk', createdAt: 1 }, { includeUsage: false, answerAlone: false });
  let text = '';
  try {
    for (const item of items) for (const { choices } of chunks.take(item)) text += choices[0]?.delta.content ?? '';
  } catch (error) {
    if (errorCode(error) === 'run_open') return 'superseded';
    // A run that was cancelled is an error at the end.
    if (errorCode(error) !== 'run_ended') throw error;
  }
  return text;
}

test('a stream has the texts of the record, each once, or says that it was superseded', () => {
  fc.assert(
    fc.property(generatedRun, ({ items, result }) => {
      const recorded = streamed(items.filter(({ type }) => type === 'event' || type === 'step' || type === 'end'));
      expect(recorded).not.toBe('superseded');
      // The words of a refusal arrive as text, and are not text of the record.
      const refused = result?.errorCode === 'model_refusal' ? [`${recorded}${recorded === '' ? '' : '\n\n'}I will not`] : [];
      expect([recorded, 'superseded', ...refused]).toContain(streamed(items));
    }),
    { numRuns: propertyRuns(500) },
  );
});

test('a client that makes a key for each call repeats a request that broke as the same run', async () => {
  class Client extends OpenAI {
    protected override idempotencyHeader = 'Idempotency-Key';
  }
  const { handler, calls } = served(lookedUp());
  let count = 0;
  const openai = new Client({
    baseURL: 'http://localhost/v1',
    apiKey: 'key',
    maxRetries: 1,
    fetch: async (url, init) => {
      const response = await handler(new Request(url, init));
      count += 1;
      if (count === 1) throw new TypeError('terminated');
      return response;
    },
  });
  await openai.chat.completions.create(ASKED);
  const ids = calls.map((call) => (call[2] as { runId?: string }).runId);
  expect([ids.length, new Set(ids).size, ids[0]]).toEqual([2, 1, expect.stringMatching(/^run-/)]);
});
