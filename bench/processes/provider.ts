import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerTo, reasoningFor } from '../script/scripted-request.ts';
import type { AssistantMessage } from '../script/scripted-run.ts';
import { readSetting, reply } from '../../test/processes/program.ts';

/**
 * A language model without delay: Chat Completions over HTTP, streamed if the request asks for it, with answers from the script. Runs in a
 * separate process, so that it does not share an event loop with the measured side, and ends with its parent.
 */

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

function answer(response: ServerResponse, body: Buffer): void {
  const message = answerTo(body);
  if (message === undefined) refuse(response, 400, 'The request does not say how many pages to read');
  else if (body.includes(STREAMED)) stream(response, message, reasoningFor(body));
  else whole(response, message);
}

function whole(response: ServerResponse, message: AssistantMessage): void {
  const choice = { index: 0, message, finish_reason: message.tool_calls === undefined ? 'stop' : 'tool_calls', logprobs: null };
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ id: ID, object: 'chat.completion', created: 0, model: MODEL, choices: [choice], usage: USAGE }));
}

function stream(response: ServerResponse, { content, tool_calls: calls }: AssistantMessage, reasoning: string): void {
  const delta = (fields: object, finishReason: string | null = null): object => ({
    choices: [{ index: 0, delta: fields, finish_reason: finishReason }],
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (reasoning !== '') send(response, delta({ role: 'assistant', reasoning_content: reasoning }));
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

server.keepAliveTimeout = ONE_HOUR_MS;
readSetting();
server.listen(0, '127.0.0.1', () => reply({ type: 'ready', port: (server.address() as AddressInfo).port }));
