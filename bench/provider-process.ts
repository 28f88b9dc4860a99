import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AssistantMessage, scriptedAnswer, stepsAskedFor } from './scripted-run.ts';

/**
 * A language model that takes no time: Chat Completions over HTTP, streamed where the request asks for it, answering from the
 * script. Runs in a process of its own, so that it does not share an event loop with what is measured, and ends with its parent.
 */

/** The prompt is near the beginning of a request, behind the instructions. */
const HEAD_BYTES = 4_096;
const RESULT = Buffer.from('"role":"tool"');
const STREAMED = Buffer.from('"stream":true');
const USAGE = { prompt_tokens: 1_000, completion_tokens: 20, total_tokens: 1_020 };
const ID = 'chatcmpl-bench';
const MODEL = 'pages';
const ONE_HOUR_MS = 3_600_000;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url !== '/v1/chat/completions') refuse(response, 404, `No such path: "${request.url}"`);
    else answer(response, Buffer.concat(chunks));
  });
});

/** The request is searched, not parsed: the time of the fake must not grow into the figures. A quote inside content is escaped, so that content cannot match. */
function answer(response: ServerResponse, body: Buffer): void {
  const steps = stepsAskedFor(body.toString('utf8', 0, HEAD_BYTES));
  if (steps === undefined) return refuse(response, 400, 'The request does not say how many pages to read');
  const message = scriptedAnswer(occurrences(body, RESULT), steps);
  if (body.includes(STREAMED)) stream(response, message);
  else whole(response, message);
}

function whole(response: ServerResponse, message: AssistantMessage): void {
  const choice = { index: 0, message, finish_reason: message.tool_calls === undefined ? 'stop' : 'tool_calls', logprobs: null };
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ id: ID, object: 'chat.completion', created: 0, model: MODEL, choices: [choice], usage: USAGE }));
}

function stream(response: ServerResponse, { content, tool_calls: calls }: AssistantMessage): void {
  const delta = (fields: object, finishReason: string | null = null): object => ({
    choices: [{ index: 0, delta: fields, finish_reason: finishReason }],
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (calls === undefined) {
    send(response, delta({ role: 'assistant', content: '' }));
    send(response, delta({ content }));
  } else {
    const [{ id, type, function: called }] = calls;
    send(
      response,
      delta({ role: 'assistant', content: null, tool_calls: [{ index: 0, id, type, function: { name: called.name, arguments: '' } }] }),
    );
    send(response, delta({ tool_calls: [{ index: 0, function: { arguments: called.arguments } }] }));
  }
  send(response, delta({}, calls === undefined ? 'stop' : 'tool_calls'));
  send(response, { choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

function send(response: ServerResponse, fields: object): void {
  response.write(`data: ${JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: 0, model: MODEL, ...fields })}\n\n`);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
}

function occurrences(text: Buffer, part: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

server.keepAliveTimeout = ONE_HOUR_MS;
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it once it needs it no more.
process.on('SIGINT', () => undefined);
