import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { createHandler, type Handler, type HandlerOptions } from '../../../../src/server/index.ts';
import { memoryStreams } from '../../../../src/streams/memory-streams.ts';
import type { StreamSink } from '../../../../src/streams/stream-sink.ts';
import { callTool, hang, say, scriptedModel, type ScriptEntry, together } from '../../../../src/testing/index.ts';
import { openaiFor } from '../../../server-http/openai/served-run.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

/** Its model calls are retried soon. */
const hasty = defineAgent({ name: 'hasty', model: 'scripted/m', modelTimeout: '1s', modelMaxAttempts: 2 });

const agents = [assistant, clerk, hasty];

/** A service and a worker with a scripted model, which share a sink. */
async function service(testbed: Testbed, entries: ScriptEntry[], sink: StreamSink = memoryStreams()): Promise<Handler> {
  await testbed.work({ agents, providers: { scripted: scriptedModel(entries) }, streams: sink });
  return serviceOf(testbed, {}, sink);
}

/** Another service on the same task queue, as of another process: without the sink it sees the record alone. */
function serviceOf(testbed: Testbed, options: HandlerOptions = {}, streams?: StreamSink): Handler {
  const settings = { taskQueue: testbed.taskQueue, ...(streams === undefined ? {} : { streams }) };
  return createHandler(new LonghaulClient(testbed.client.temporal, settings), { agents, ...options });
}

const key = (): { headers: Record<string, string> } => ({ headers: { 'Idempotency-Key': randomUUID() } });

const textOf = (events: readonly ResponseStreamEvent[]): string =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');

test('chat completions stream as the model writes, and the same key gives the same run', async () => {
  await using testbed = await Testbed.open();
  const script = [together(say('I look. '), callTool('search', { query: 'x' })), say('Here it is', { chunks: 5, every: '5ms' })];
  const openai = openaiFor(await service(testbed, script));
  const once = key();
  const asked = { model: 'assistant', messages: [{ role: 'user' as const, content: 'Find x' }] };
  const stream = openai.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }, once);
  const texts: string[] = [];
  stream.on('content', (delta) => texts.push(delta));
  const streamed = await stream.finalChatCompletion();
  expect(streamed).toMatchObject({
    choices: [{ message: { content: 'I look. \n\nHere it is' }, finish_reason: 'stop' }],
    usage: { total_tokens: 30 },
  });
  expect(texts.length).toBeGreaterThan(3);
  const waited = await openai.chat.completions.create(asked, once);
  expect(waited).toMatchObject({ id: streamed.id, choices: [{ message: { content: 'Here it is' } }], created: streamed.created });
  expect(await testbed.client.handle(streamed.id).result()).toMatchObject({ status: 'completed', output: 'Here it is' });
  await expect(openai.chat.completions.create({ ...asked, temperature: 1 }, once)).rejects.toMatchObject({
    status: 422,
    code: 'key_reused',
  });
});

test('a stream continues exactly in another process, after any of its events', async () => {
  await using testbed = await Testbed.open();
  const script = [together(say('I look. '), callTool('search', { query: 'x' })), say('Here it is', { chunks: 5 })];
  const openai = openaiFor(await service(testbed, script));
  const whole = await Array.fromAsync(await openai.responses.create({ model: 'assistant', input: 'Find x', stream: true }));
  const created = whole[0];
  if (created?.type !== 'response.created') throw new Error('The stream has no beginning');
  const { id } = created.response;
  const other = openaiFor(serviceOf(testbed));
  for (const [position, { sequence_number: number }] of whole.entries()) {
    const rest = await Array.fromAsync(await other.responses.retrieve(id, { stream: true, starting_after: number }));
    const all = [...whole.slice(0, position + 1), ...rest];
    expect([textOf(all), all.at(-1)]).toEqual(['I look. Here it is', whole.at(-1)]);
  }
  const read = await other.responses.retrieve(id);
  expect(read.output).toMatchObject([
    { type: 'message', phase: 'commentary', content: [{ text: 'I look. ' }] },
    { type: 'mcp_call', name: 'search', output: 'found: x', status: 'completed' },
    { type: 'message', phase: 'final_answer', content: [{ text: 'Here it is' }] },
  ]);
});

test('if the model is called again, a response leaves the old item incomplete, and a completion ends with an error', async () => {
  await using testbed = await Testbed.open();
  const openai = openaiFor(await service(testbed, [hang('Once upon'), say('In short: no.'), hang('Once upon'), say('In short: no.')]));
  const events = await Array.fromAsync(await openai.responses.create({ model: 'hasty', input: 'Q', stream: true }));
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' && event.item.type === 'message' ? [event.item] : []));
  expect(done).toMatchObject([
    { status: 'incomplete', content: [{ text: 'Once upon' }] },
    { status: 'completed', phase: 'final_answer', content: [{ text: 'In short: no.' }] },
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [{ content: [{ text: 'In short: no.' }] }] } });
  const once = key();
  const asked = { model: 'hasty', messages: [{ role: 'user' as const, content: 'Q' }] };
  const stream = await openai.chat.completions.create({ ...asked, stream: true }, once);
  await expect(Array.fromAsync(stream)).rejects.toMatchObject({ constructor: OpenAI.APIError, code: 'stream_superseded' });
  expect((await openai.chat.completions.create(asked, once)).choices[0]?.message.content).toBe('In short: no.');
});

test('a response in the background waits for a decision, ends, and is continued', async () => {
  await using testbed = await Testbed.open();
  const openai = openaiFor(await service(testbed, [callTool('refund', { amount: 5 }), say('Paid'), say('You are welcome')]));
  const metadata = { order: '42' };
  const { id, status } = await openai.responses.create({ model: 'clerk', input: 'Refund me', background: true, metadata });
  expect(status).toBe('in_progress');
  const handle = testbed.client.handle(id);
  await until(async () => (await handle.approvals()).pending.length === 1, 'the call waits');
  expect(await openai.responses.retrieve(id)).toMatchObject({
    status: 'in_progress',
    background: true,
    metadata,
    output: [{ type: 'mcp_call', name: 'refund', arguments: '{"amount":5}', status: 'in_progress' }],
  });
  await expect(openai.responses.create({ model: 'clerk', input: 'Thanks', previous_response_id: id })).rejects.toMatchObject({
    status: 409,
    param: 'previous_response_id',
  });
  const [pending] = (await handle.approvals()).pending;
  await handle.approve(pending?.callId ?? '', { by: 'ann' });
  await handle.result();
  expect(await openai.responses.retrieve(id)).toMatchObject({ status: 'completed', metadata, output_text: 'Paid' });
  const next = await openai.responses.create({ model: 'clerk', input: 'Thanks', previous_response_id: id });
  expect(next).toMatchObject({ status: 'completed', output_text: 'You are welcome', previous_response_id: id });
  const { events } = await testbed.client.handle(next.id).context();
  expect(JSON.stringify(events)).toContain('Refund me');
});

test('a completion whose run waits for a decision for too long is an error which names both, and no second run', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [callTool('refund', { amount: 5 }), callTool('refund', { amount: 5 })]);
  let requests = 0;
  const counted = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    requests += 1;
    return handler(new Request(url, init));
  };
  const openai = openaiFor(handler, { fetch: counted, maxRetries: 2, timeout: 3_500 });
  const asked = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Refund me' }] };
  const refused: unknown = await openai.chat.completions.create(asked).catch((error: unknown) => error);
  expect(refused).toMatchObject({ constructor: OpenAI.InternalServerError, status: 503, code: 'wait_timeout' });
  expect(String(refused)).toContain('waits for a decision about "refund"');
  expect(requests).toBe(1);
  const runId = decodeURI((refused as InstanceType<typeof OpenAI.APIError>).requestID ?? '');
  expect((await testbed.client.handle(runId).approvals()).pending).toMatchObject([{ toolName: 'refund' }]);
  const withKey = { ...key(), maxRetries: 1 };
  await expect(openai.chat.completions.create(asked, withKey)).rejects.toMatchObject({ status: 503, code: 'wait_timeout' });
  expect(requests).toBe(3);
});

test('a cut-off answer and a refusal end a completion and a response as such', async () => {
  await using testbed = await Testbed.open();
  const refusal = { refusal: 'I will not do that', chunks: 4, every: '5ms' as const };
  const script = [say('Once upon', { finishReason: 'length' }), say('', refusal), say('', refusal)];
  const openai = openaiFor(await service(testbed, script));
  const cutOff = await openai.responses.create({ model: 'assistant', input: 'Q' });
  expect(cutOff).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output_text: 'Once upon',
  });
  const again = await openai.responses.retrieve(cutOff.id);
  expect([again.status, again.output]).toEqual([cutOff.status, cutOff.output]);
  const asked = { model: 'assistant', messages: [{ role: 'user' as const, content: 'Q' }] };
  const completion = await openai.chat.completions.stream(asked).finalChatCompletion();
  expect(completion.choices).toMatchObject([
    { message: { refusal: expect.stringContaining('I will not do that') as string }, finish_reason: 'content_filter' },
  ]);
  const response = await openai.responses.stream({ model: 'assistant', input: 'Q' }).finalResponse();
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    output: [{ type: 'message', content: [{ type: 'refusal', refusal: expect.stringContaining('I will not do that') as string }] }],
  });
  expect(response.output).toMatchObject((await openai.responses.retrieve(response.id)).output);
});

test('a background response that is requested again with its key is the same response, which has ended', async () => {
  await using testbed = await Testbed.open();
  const openai = openaiFor(await service(testbed, [say('Done')]));
  const once = key();
  const asked = { model: 'assistant', input: 'Q', background: true };
  const begun = await openai.responses.create(asked, once);
  expect(begun.status).toBe('in_progress');
  await testbed.client.handle(begun.id).result();
  expect(await openai.responses.create(asked, once)).toMatchObject({ id: begun.id, status: 'completed', output_text: 'Done' });
});

test('a reader that goes cancels nothing; a cancellation does', async () => {
  await using testbed = await Testbed.open();
  const openai = openaiFor(await service(testbed, [hang('Once upon')]));
  const stream = await openai.responses.create({ model: 'assistant', input: 'Q', stream: true });
  let id = '';
  for await (const event of stream) {
    if (event.type === 'response.created') id = event.response.id;
    if (event.type === 'response.output_text.delta') break;
  }
  expect((await openai.responses.retrieve(id)).status).toBe('in_progress');
  expect((await openai.responses.cancel(id)).status).toBe('cancelled');
  expect((await openai.responses.cancel(id)).status).toBe('cancelled');
});

test('the response of another principal is unknown, like a response that does not exist', async () => {
  await using testbed = await Testbed.open();
  await service(testbed, [say('secret')]);
  const as = (tenant: string): OpenAI =>
    openaiFor(serviceOf(testbed, { authenticate: () => ({ id: tenant, principal: { tenant }, scopes: ['runs:read', 'runs:write'] }) }));
  const { id } = await as('acme').responses.create({ model: 'assistant', input: 'Q' });
  const other = as('umbrella');
  const refusals = async (runId: string): Promise<unknown[]> => {
    const requests = [
      other.responses.retrieve(runId),
      other.responses.retrieve(runId, { stream: true }),
      other.responses.cancel(runId),
      other.responses.create({ model: 'assistant', input: 'Q', previous_response_id: runId }),
    ];
    const all = await Promise.allSettled<unknown>(requests);
    return all.map((one) =>
      one.status === 'rejected' && one.reason instanceof OpenAI.APIError ? [one.reason.status, one.reason.error] : one,
    );
  };
  const foreign = await refusals(id);
  expect(foreign.map((one) => (one as [number])[0])).toEqual([404, 404, 404, 404]);
  expect(foreign).toEqual(await refusals('no-such'));
});
