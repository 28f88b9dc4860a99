import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { tokenText, type TokenScript } from '../stream/token.ts';
import { readSetting, reply } from '../../test/processes/program.ts';

/**
 * A provider of Chat Completions that streams tokens at a pace, and stamps each with its write time. In a separate process, so that it does
 * not share an event loop with the measured side. Ends with the process that started it.
 */

const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const ONE_HOUR_MS = 3_600_000;

interface Message {
  role: string;
  content: string;
  tool_call_id?: string;
}

const server = createServer((request, response) => {
  void answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { messages } = (await json(request)) as { messages: Message[] };
  const script = JSON.parse(messages.find(({ role }) => role === 'user')?.content ?? '') as TokenScript;
  const results = messages.flatMap(({ role, tool_call_id: id }) => (role === 'tool' && id !== undefined ? [id] : []));
  const notes = results.filter((id) => id.startsWith('note')).length;
  const isAsking = script.asks === true && results.length === 0;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send(response, { role: 'assistant', content: '' });
  if (!isAsking) await sendTokens(response, script, notes * script.tokens);
  const tool = isAsking ? 'ask' : notes < script.steps ? 'note' : undefined;
  if (tool !== undefined) {
    const id = `${tool}-${String(notes).padStart(4, '0')}`;
    send(response, { tool_calls: [{ index: 0, id, type: 'function', function: { name: tool, arguments: '{}' } }] });
  }
  send(response, {}, tool === undefined ? 'stop' : 'tool_calls');
  response.end(`data: ${JSON.stringify(chunk({ choices: [], usage: USAGE }))}\n\ndata: [DONE]\n\n`);
}

async function sendTokens(response: ServerResponse, { tokens, rate, phaseMs }: TokenScript, first: number): Promise<void> {
  const begun = performance.now() + phaseMs;
  for (let index = 0; index < tokens && !response.destroyed; index += 1) {
    await due(begun, index, rate);
    send(response, { content: tokenText(first + index) });
  }
}

/** Waits until a token is due. A late timer does not delay the tokens after it. */
async function due(begun: number, index: number, rate: number): Promise<void> {
  if (rate === 0) return turn();
  const ms = begun + (index * 1_000) / rate - performance.now();
  if (ms > 0) await pause(ms);
}

function send(response: ServerResponse, delta: object, finishReason: string | null = null): void {
  response.write(`data: ${JSON.stringify(chunk({ choices: [{ index: 0, delta, finish_reason: finishReason }] }))}\n\n`);
}

function chunk(fields: object): object {
  return { id: 'chatcmpl-tokens', object: 'chat.completion.chunk', created: 0, model: 'model', ...fields };
}

server.keepAliveTimeout = ONE_HOUR_MS;
readSetting();
server.listen(0, '127.0.0.1', () => reply({ type: 'ready', port: (server.address() as AddressInfo).port }));
