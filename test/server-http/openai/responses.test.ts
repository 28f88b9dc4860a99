import OpenAI from 'openai';
import type { ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Decision } from '../../../src/core/domain/approvals.ts';
import { defineAgent } from '../../../src/index.ts';
import { openaiFor, served, ToldRun } from './served-run.ts';

/** A run that says something, looks something up, and answers. */
function lookedUp(): ToldRun {
  return new ToldRun()
    .delta('e1', 'Let me ')
    .delta('e1', 'look')
    .answer('e1', 'Let me look', { id: 'c1', name: 'search', arguments: { query: 'x' } })
    .toolResult('c1', 'found: x')
    .delta('e2', 'Here ')
    .delta('e2', 'it is')
    .answer('e2', 'Here it is')
    .end('Here it is');
}

async function eventsOf(run: ToldRun): Promise<ResponseStreamEvent[]> {
  const stream = await openaiFor(served(run).handler).responses.create({ model: 'clerk', input: 'Q', stream: true });
  return Array.fromAsync(stream);
}

/** The events without their numbers, in short. */
function short(events: readonly ResponseStreamEvent[]): string[] {
  return events.map((event) => {
    const type = event.type.replace('response.', '');
    if ('delta' in event) return `${type} ${event.delta as string}`;
    if ('item' in event)
      return `${type} ${event.output_index} ${event.item.type} ${'status' in event.item ? event.item.status : ''} ${phaseOf(event.item)}`.trim();
    return 'response' in event ? `${type} ${event.response.status}` : type;
  });
}

const phaseOf = (item: object): string => ('phase' in item ? String(item.phase) : '');

test('the phase of a message distinguishes commentary from the answer, and calls are items that the service has made', async () => {
  expect(short(await eventsOf(lookedUp()))).toEqual([
    'created in_progress',
    'in_progress in_progress',
    'output_item.added 0 message in_progress',
    'content_part.added',
    'output_text.delta Let me ',
    'output_text.delta look',
    'output_text.done',
    'content_part.done',
    'output_item.done 0 message completed commentary',
    'output_item.added 1 mcp_call in_progress',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta {"query":"x"}',
    'mcp_call_arguments.done',
    'mcp_call.completed',
    'output_item.done 1 mcp_call completed',
    'output_item.added 2 message in_progress',
    'content_part.added',
    'output_text.delta Here ',
    'output_text.delta it is',
    'output_text.done',
    'content_part.done',
    'output_item.done 2 message completed final_answer',
    'completed completed',
  ]);
});

test('a stream, an awaited response, and a response that is read later have the same output', async () => {
  const run = lookedUp();
  const { handler } = served(run);
  const openai = openaiFor(handler);
  const waited = await openai.responses.create({ model: 'clerk', input: 'Q' });
  const streamed = await openai.responses.stream({ model: 'clerk', input: 'Q' }).finalResponse();
  const read = await openai.responses.retrieve(run.runId);
  const followed = await openai.responses.stream({ response_id: run.runId }).finalResponse();
  expect(waited.output).toMatchObject([
    { type: 'message', phase: 'commentary', content: [{ text: 'Let me look' }] },
    { type: 'mcp_call', name: 'search', arguments: '{"query":"x"}', output: 'found: x', status: 'completed' },
    { type: 'message', phase: 'final_answer', content: [{ text: 'Here it is' }] },
  ]);
  for (const response of [streamed, read, followed]) {
    expect(response).toMatchObject({ id: run.runId, status: 'completed', model: 'clerk', usage: { input_tokens: 10, output_tokens: 5 } });
    expect(JSON.parse(JSON.stringify(response.output))).toMatchObject(JSON.parse(JSON.stringify(waited.output)) as object[]);
  }
});

test('a call whose arguments an approver changed is shown as it ran', async () => {
  const edited = { query: 'y' };
  const decision: Decision = {
    id: 'd',
    type: 'approve',
    callId: 'c1',
    toolName: 'search',
    digest: 'x',
    arguments: edited,
    by: 'ann',
    source: 'update',
    at: '',
  };
  const run = new ToldRun()
    .answer('e1', '', { id: 'c1', name: 'search', arguments: { query: 'x' } })
    .event('d1', [], { decision })
    .event('r1', [{ type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['found: y'] }])
    .answer('e2', 'Here it is')
    .end('Here it is');
  const as = { type: 'mcp_call', arguments: '{"query":"y"}', output: 'found: y' };
  const { output } = await openaiFor(served(run).handler).responses.create({ model: 'clerk', input: 'Q' });
  expect(output[0]).toMatchObject(as);
  const done = (await eventsOf(run)).find(({ type }) => type === 'response.output_item.done');
  expect(done).toMatchObject({ item: as });
});

test('after a reset the old item stays incomplete, and a new one begins', async () => {
  const run = new ToldRun().delta('e1', 'It is th').reset().delta('e2', 'It was').answer('e2', 'It was four.').end('It was four.');
  const events = await eventsOf(run);
  expect(short(events).filter((line) => !line.startsWith('content_part'))).toEqual([
    'created in_progress',
    'in_progress in_progress',
    'output_item.added 0 message in_progress',
    'output_text.delta It is th',
    'output_text.done',
    'output_item.done 0 message incomplete',
    'output_item.added 1 message in_progress',
    'output_text.delta It was',
    'output_text.delta  four.',
    'output_text.done',
    'output_item.done 1 message completed final_answer',
    'completed completed',
  ]);
  const final = await openaiFor(served(run).handler).responses.stream({ model: 'clerk', input: 'Q' }).finalResponse();
  expect(final.output_text).toBe('It was four.');
});

test('reasoning is an item of the stream, which the record does not hold', async () => {
  const run = new ToldRun().reasoning('e1', 'Hmm').reasoning('e1', ' yes').delta('e1', 'Yes').answer('e1', 'Yes').end('Yes');
  const events = await eventsOf(run);
  expect(short(events).slice(2, 9)).toEqual([
    'output_item.added 0 reasoning in_progress',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta Hmm',
    'reasoning_summary_text.delta  yes',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done 0 reasoning completed',
  ]);
  const openai = openaiFor(served(run).handler);
  expect((await openai.responses.stream({ model: 'clerk', input: 'Q' }).finalResponse()).output_text).toBe('Yes');
  expect((await openai.responses.retrieve('run-1')).output).toMatchObject([{ type: 'message' }]);
});

test('an output that no text of the record is becomes the answer', async () => {
  const run = new ToldRun()
    .answer('e1', 'Let me think', { id: 'c1', name: 'final_answer', arguments: { output: 'x' } })
    .end({ urgency: 'high' });
  const response = await openaiFor(served(run).handler).responses.create({ model: 'clerk', input: 'Q' });
  expect(response.output).toMatchObject([
    { phase: 'commentary', content: [{ text: 'Let me think' }] },
    { phase: 'final_answer', content: [{ text: '{"urgency":"high"}' }] },
  ]);
});

test.each([
  [{ status: 'limit_reached', stopReason: 'token_budget' }, 'incomplete', { reason: 'max_output_tokens' }, null],
  [{ status: 'error', stopReason: 'guardrail', errorCode: 'guardrail_tripped' }, 'incomplete', { reason: 'content_filter' }, null],
  [
    { status: 'error', stopReason: 'error', errorCode: 'model_rate_limited', error: 'slow' },
    'failed',
    null,
    { code: 'rate_limit_exceeded', message: 'slow' },
  ],
  [{ status: 'cancelled', stopReason: 'cancelled' }, 'cancelled', null, null],
] as const)('a run that ends as %j is a response with status "%s"', async (end, status, details, error) => {
  const run = new ToldRun().delta('e1', 'Part').end('Part', end);
  const openai = openaiFor(served(run).handler);
  const read = await openai.responses.retrieve('run-1');
  expect([read.status, read.incomplete_details, read.error]).toEqual([status, details, error]);
  expect((await openai.responses.stream({ response_id: 'run-1' }).finalResponse()).status).toBe(status);
});

test('text that a guardrail has blocked is not part of the output', async () => {
  const run = new ToldRun()
    .answer('e1', 'The secret is 7')
    .end('Response blocked: secret', { status: 'error', stopReason: 'guardrail', errorCode: 'guardrail_tripped' });
  const openai = openaiFor(served(run).handler);
  expect((await openai.responses.retrieve('run-1')).output_text).toBe('Response blocked: secret');
  expect(JSON.stringify((await openai.responses.stream({ response_id: 'run-1' }).finalResponse()).output)).not.toContain('The secret');
});

test('an answer that guardrails have not passed is not part of a response in progress', async () => {
  const { handler } = served(new ToldRun().answer('e1', 'The secret is 7').guarded());
  expect(await openaiFor(handler).responses.retrieve('run-1')).toMatchObject({ status: 'in_progress', output: [] });
});

test('the part of a guarded answer that had arrived is shown by no protocol, and neither is code that may return one', async () => {
  const run = new ToldRun()
    .answer('e1', 'The sec')
    .answer('e2', 'The secret', { id: 'c1', name: 'run_code', arguments: { code: 'answer("the secret")' } })
    .event('r1', [{ type: 'tool_result', toolCallId: 'c1', name: 'run_code', status: 'success', content: ['the secret'] }]);
  Object.assign(run.events[0] ?? {}, { interrupted: true });
  run.guarded().end('Response blocked', { status: 'error', stopReason: 'guardrail', errorCode: 'guardrail_tripped' });
  const openai = openaiFor(served(run).handler);
  expect((await openai.responses.retrieve('run-1')).output_text).toBe('Response blocked');
  expect(JSON.stringify(await Array.fromAsync(await openai.responses.create({ model: 'clerk', input: 'Q', stream: true })))).not.toContain(
    'sec',
  );
  const asked = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Q' }], stream: true as const };
  expect(JSON.stringify(await Array.fromAsync(await openai.chat.completions.create(asked)))).not.toContain('sec');
});

test('a run that continues is a response in progress, at once with "background"', async () => {
  const run = new ToldRun().answer('e1', '', { id: 'c1', name: 'refund', arguments: {} });
  const openai = openaiFor(served(run).handler);
  expect(await openai.responses.create({ model: 'clerk', input: 'Q', background: true })).toMatchObject({
    id: 'run-1',
    status: 'in_progress',
    background: true,
    output: [],
  });
  expect(await openai.responses.create({ model: 'clerk', input: 'Q' })).toMatchObject({
    status: 'in_progress',
    output: [{ type: 'mcp_call', name: 'refund', status: 'in_progress' }],
  });
});

test('a run is started with the conversation, the settings and the limits of the request', async () => {
  const { handler, calls } = served(new ToldRun().end('done'));
  const openai = openaiFor(handler);
  await openai.responses.create({
    model: 'clerk',
    instructions: 'Be short.',
    input: [
      { role: 'user', content: 'Find x' },
      { type: 'function_call', call_id: 'c1', name: 'search', arguments: '{"query":"x"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'found' },
      { role: 'assistant', content: 'It is x' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'And this?' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
        ],
      },
    ],
    temperature: 0,
    max_output_tokens: 100,
    max_tool_calls: 3,
    reasoning: { effort: 'low' },
    metadata: { order: '42' },
  });
  expect(calls[0]?.[2]).toMatchObject({
    messages: [
      { type: 'message', role: 'system', content: 'Be short.' },
      { type: 'message', role: 'user', content: 'Find x' },
      { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: { query: 'x' } },
      { type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['found'] },
      { type: 'message', role: 'assistant', content: 'It is x' },
    ],
    input: [
      { type: 'text', text: 'And this?' },
      { type: 'image', data: 'AAAA', mediaType: 'image/png' },
    ],
    settings: { temperature: 0, maxOutputTokens: 100, reasoningEffort: 'low' },
    limits: { toolCalls: 3 },
  });
  await openai.responses.create({ model: 'clerk', input: [{ role: 'user', content: 'More' }], previous_response_id: 'run-0' });
  expect(calls[1]?.[2]).toMatchObject({ previousRunId: 'run-0', input: 'More' });
});

test('a response repeats the reasoning and the format that were asked for, with the schema of the agent', async () => {
  const triage = defineAgent({ name: 'clerk', model: 'scripted/m', output: z.object({ urgency: z.string() }) });
  const openai = openaiFor(served(new ToldRun().end({ urgency: 'high' }), { agents: [triage] }).handler);
  const schema = { type: 'object', properties: { urgency: { type: 'string' } } };
  const format = { type: 'json_schema', name: 'triage', schema } as const;
  const asked = await openai.responses.create({ model: 'clerk', input: 'Q', text: { format }, reasoning: { effort: 'low' } });
  expect(asked.text).toEqual({ format: { ...format, schema: triage.output?.schema } });
  expect(asked.reasoning).toEqual({ effort: 'low' });
  const plain = await openai.responses.create({ model: 'clerk', input: 'Q' });
  expect([plain.text, plain.reasoning]).toEqual([{ format: { type: 'text' } }, null]);
});

test('the output of an earlier response can be sent as the input of the next', async () => {
  const { handler, calls } = served(lookedUp());
  const openai = openaiFor(handler);
  const { output } = await openai.responses.create({ model: 'clerk', input: 'Q' });
  await openai.responses.create({
    model: 'clerk',
    input: [{ role: 'user', content: 'Q' }, ...(output as ResponseInputItem[]), { role: 'user', content: 'And y?' }],
  });
  const started = calls.map((call) => call[2] as { messages?: { type: string }[] });
  expect(started[1]?.messages?.map(({ type }) => type)).toEqual(['message', 'message', 'tool_call', 'tool_result', 'message']);
});

test('a cancellation is attributed to the caller, and returns the response', async () => {
  const { handler, calls } = served(new ToldRun().end('', { status: 'cancelled', stopReason: 'cancelled' }));
  expect((await openaiFor(handler).responses.cancel('run-1')).status).toBe('cancelled');
  expect(calls).toEqual([['cancel', 'cancelled over the OpenAI protocol', { by: 'ops' }]]);
});

test('a caller that may only write cancels a response, and cannot read it', async () => {
  const run = new ToldRun().answer('e1', 'Secret').end('Secret', { status: 'cancelled', stopReason: 'cancelled' });
  const openai = openaiFor(served(run, { caller: { scopes: ['runs:write'] } }).handler);
  expect(await openai.responses.cancel('run-1')).toMatchObject({ status: 'cancelled', output: [] });
});

test('a stream that cannot continue ends with an error', async () => {
  const closing = new AbortController();
  const run = new ToldRun().delta('e1', 'Part');
  const { handler } = served(run, { closing: closing.signal });
  Object.defineProperty(run, 'items', {
    get: () => {
      closing.abort();
      throw new Error('cut');
    },
  });
  const stream = await openaiFor(handler).responses.create({ model: 'clerk', input: 'Q', stream: true });
  await expect(Array.fromAsync(stream)).rejects.toMatchObject({ constructor: OpenAI.APIError, code: 'shutting_down' });
});
