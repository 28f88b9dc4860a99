import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import { openaiFor, served, ToldRun } from './served-run.ts';

const CHAT = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Q' }] };
const RESPONSE = { model: 'clerk', input: 'Q' };

const REFUSED = {
  status: 'error',
  stopReason: 'error',
  errorCode: 'model_refusal',
  error: 'The model refused to answer: I will not',
} as const;

/** A run whose model refuses to answer, after a text that is recorded. Clients of models report both as text. */
function refused(recorded = ''): ToldRun {
  const run = new ToldRun();
  if (recorded !== '') run.delta('e1', recorded);
  return run.delta('e1', 'I will ').delta('e1', 'not').answer('e1', recorded).step('refusal').end(recorded, REFUSED);
}

const streamOf = async (run: ToldRun): Promise<ResponseStreamEvent[]> =>
  Array.fromAsync(await openaiFor(served(run).handler).responses.create({ ...RESPONSE, stream: true }));

describe('a model that was cut off in its answer', () => {
  const cutOff = (): ToldRun => new ToldRun().delta('e1', 'Once ').answer('e1', 'Once upon').step('length').end('Once upon');
  const incomplete = {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    completed_at: null,
    error: null,
    output: [{ type: 'message', status: 'incomplete', phase: 'final_answer', content: [{ text: 'Once upon' }] }],
  };

  test('leaves the response incomplete, in every way to read it', async () => {
    const openai = openaiFor(served(cutOff()).handler);
    expect(await openai.responses.create(RESPONSE)).toMatchObject(incomplete);
    expect(await openai.responses.retrieve('run-1')).toMatchObject(incomplete);
    expect(await openai.responses.cancel('run-1')).toMatchObject(incomplete);
    expect((await streamOf(cutOff())).at(-1)).toMatchObject({ type: 'response.incomplete', response: incomplete });
  });

  test('is known to a caller that may only write, which reads no text', async () => {
    const openai = openaiFor(served(cutOff(), { caller: { scopes: ['runs:write'] } }).handler);
    expect(await openai.responses.cancel('run-1')).toMatchObject({ ...incomplete, output: [] });
  });

  test('changes nothing if it has answered since', async () => {
    const run = new ToldRun()
      .answer('e1', 'Once', { id: 'c1', name: 'search', arguments: {} })
      .toolResult('c1', 'found')
      .step('length')
      .answer('e2', 'The end')
      .step()
      .end('The end');
    expect(await openaiFor(served(run).handler).responses.create(RESPONSE)).toMatchObject({
      status: 'completed',
      incomplete_details: null,
    });
    expect((await streamOf(run)).at(-1)).toMatchObject({ type: 'response.completed' });
  });
});

describe.each([
  ['alone', ''],
  ['behind a text', 'Well. '],
])('a refusal of the model, %s', (_, text) => {
  test('ends a streamed completion with its words', async () => {
    const chunks = await Array.fromAsync(await openaiFor(served(refused(text)).handler).chat.completions.create({ ...CHAT, stream: true }));
    expect(chunks.slice(-2).map(({ choices: [one] }) => [one?.delta, one?.finish_reason])).toEqual([
      [{ refusal: REFUSED.error }, null],
      [{}, 'content_filter'],
    ]);
    expect(chunks.map(({ choices: [one] }) => one?.delta.content ?? '').join('')).toBe(`${text}I will not`);
    const helped = await openaiFor(served(refused(text)).handler)
      .chat.completions.stream(CHAT)
      .finalChatCompletion();
    expect(helped.choices[0]).toMatchObject({ message: { refusal: REFUSED.error }, finish_reason: 'content_filter' });
    const waited = await openaiFor(served(refused(text)).handler).chat.completions.create(CHAT);
    expect(waited.choices[0]).toMatchObject({ message: { content: null, refusal: REFUSED.error }, finish_reason: 'content_filter' });
  });

  test('is a message of the response, in every way to read it', async () => {
    const told = { type: 'message', status: 'completed', phase: 'final_answer', content: [{ type: 'refusal', refusal: REFUSED.error }] };
    const said = { type: 'message', phase: 'commentary', content: [{ type: 'output_text', text }] };
    const response = {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: text === '' ? [told] : [said, told],
    };
    const openai = openaiFor(served(refused(text)).handler);
    expect(await openai.responses.create(RESPONSE)).toMatchObject(response);
    expect(await openai.responses.retrieve('run-1')).toMatchObject({ ...response, output_text: text });
    const events = await streamOf(refused(text));
    expect(events.slice(-7)).toMatchObject([
      { type: 'response.output_item.added', item: { type: 'message', status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', part: { type: 'refusal', refusal: '' } },
      { type: 'response.refusal.delta', delta: REFUSED.error },
      { type: 'response.refusal.done', refusal: REFUSED.error },
      { type: 'response.content_part.done', part: { type: 'refusal', refusal: REFUSED.error } },
      { type: 'response.output_item.done', item: told },
      { type: 'response.incomplete', response },
    ]);
    expect((await openai.responses.stream({ response_id: 'run-1' }).finalResponse()).output).toMatchObject(response.output);
  });
});

test('a refusal is sent alone where only the answer is sent', async () => {
  const { handler } = served(refused('Well. ').guarded());
  const chunks = await Array.fromAsync(await openaiFor(handler).chat.completions.create({ ...CHAT, stream: true }));
  expect(chunks.map(({ choices: [one] }) => one?.delta)).toEqual([{ role: 'assistant', content: '' }, { refusal: REFUSED.error }, {}]);
  // The text before it has passed no guardrail.
  const told = [{ type: 'message', content: [{ type: 'refusal', refusal: REFUSED.error }] }];
  expect((await openaiFor(handler).responses.create(RESPONSE)).output).toMatchObject(told);
  const streamed = await Array.fromAsync(await openaiFor(handler).responses.create({ ...RESPONSE, stream: true }));
  expect(JSON.stringify(streamed)).not.toContain('Well');
});

test.each([
  ['a run that ends with another answer', new ToldRun().delta('e1', 'I will').answer('e1', '').end('Four')],
  ['a run that continues', new ToldRun().delta('e1', 'I will').answer('e1', '').delta('e2', 'Four').answer('e2', 'Four').end('Four')],
  ['another attempt', new ToldRun().delta('e1', 'I will').answer('e1', '').reset().answer('e2', 'Four').end('Four')],
  [
    'an answer that calls tools',
    new ToldRun().delta('e1', 'I will').answer('e1', '', { id: 'c1', name: 'search', arguments: {} }).end('', REFUSED),
  ],
])('text that the record does not have is not a refusal in %s', async (_, run) => {
  const stream = await openaiFor(served(run).handler).chat.completions.create({ ...CHAT, stream: true });
  await expect(Array.fromAsync(stream)).rejects.toMatchObject({ code: 'stream_superseded' });
});

test.each([
  ['has failed', new ToldRun().end('', { status: 'error', stopReason: 'error', errorCode: 'model_unreachable' })],
  ['was cancelled', new ToldRun().end('', { status: 'cancelled', stopReason: 'cancelled' })],
  ['has no worker for its agent', new ToldRun().end('', { status: 'error', stopReason: 'error', errorCode: 'unknown_agent' })],
  ['continues', new ToldRun().answer('e1', '', { id: 'c1', name: 'refund', arguments: {} })],
])('the error of a completion whose run %s names the run', async (_, run) => {
  const refusal: unknown = await openaiFor(served(run).handler)
    .chat.completions.create(CHAT)
    .catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(OpenAI.APIError);
  expect(refusal).toMatchObject({ requestID: 'run-1' });
  expect((refusal as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry')).toBe('false');
});
