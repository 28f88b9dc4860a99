import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { providers } from '../../examples/provider/claude.ts';
import { ollama } from '../../examples/provider/ollama.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';

const search = defineTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string() }),
  execute: ({ query }) => `found ${query}`,
});
const agent = defineAgent({
  name: 'finder',
  model: 'ollama/llama3',
  instructions: 'Find it.',
  tools: [search],
  settings: { temperature: 0 },
});

type Answer = (response: ServerResponse) => void;

let stop: (() => void) | undefined;

afterEach(() => stop?.());

/** A server that gives these answers in order, and records the requests. */
async function server(...answers: Answer[]): Promise<{ url: string; asked: unknown[] }> {
  const asked: unknown[] = [];
  const listening = createServer((request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      asked.push(JSON.parse(body));
      answers.shift()?.(response);
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  stop = () => {
    listening.closeAllConnections();
    listening.close();
  };
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, asked };
}

const lines =
  (...chunks: object[]): Answer =>
  (response) =>
    response.end(chunks.map((chunk) => `${JSON.stringify(chunk)}\n`).join(''));
const status =
  (code: number, text: string): Answer =>
  (response) =>
    response.writeHead(code).end(text);

const calls = lines(
  { message: { content: '', tool_calls: [{ function: { name: 'search', arguments: { query: 'it' } } }] }, done: false },
  { message: { content: '' }, done: true, done_reason: 'stop', prompt_eval_count: 20, eval_count: 5 },
);
const says = lines(
  { message: { content: 'Here ' }, done: false },
  { message: { content: 'it is' }, done: false },
  { message: { content: '' }, done: true, done_reason: 'stop', prompt_eval_count: 40, eval_count: 3 },
);

test('an agent runs on the provider of the guide, with its tools and its usage', async () => {
  const { url, asked } = await server(calls, says);
  const { result } = await testAgent(agent, { input: 'Where is it?', model: ollama(url) });
  expect(result).toMatchObject({ status: 'completed', output: 'Here it is', toolCallsByName: { search: 1 } });
  expect(result.usage).toMatchObject({ promptTokens: 60, completionTokens: 8 });
  expect(asked[1]).toEqual({
    model: 'llama3',
    messages: [
      { role: 'system', content: 'Find it.' },
      { role: 'user', content: 'Where is it?' },
      { role: 'assistant', content: '', tool_calls: [{ function: { name: 'search', arguments: { query: 'it' } } }] },
      { role: 'tool', tool_name: 'search', content: '["found it"]' },
    ],
    tools: [{ type: 'function', function: expect.objectContaining({ name: 'search', description: 'Searches.' }) as object }],
    options: { temperature: 0 },
  });
});

test('the provider of the guide passes on its text as it arrives', async () => {
  const { url } = await server(says);
  const pieces: string[] = [];
  const request = { model: 'llama3', instructions: [], conversation: [], tools: [], settings: {} };
  await ollama(url).call(request, {
    signal: new AbortController().signal,
    onDelta: ({ type, text }) => type === 'text' && pieces.push(text),
  });
  expect(pieces).toEqual(['Here ', 'it is']);
});

test.each<[string, Answer]>([
  ['a busy server', status(503, 'busy')],
  ['an answer that is cut off', lines({ message: { content: 'Her' }, done: false })],
  ['an error in the middle of an answer', lines({ message: { content: 'Her' } }, { error: 'out of memory' })],
])('after %s the call is retried', async (_, first) => {
  const { url, asked } = await server(first, says);
  const { result } = await testAgent(agent, { input: 'Where is it?', model: ollama(url) });
  expect(result).toMatchObject({ status: 'completed', output: 'Here it is' });
  expect(asked).toHaveLength(2);
});

test("a request that the provider refuses ends the run, with the provider's message", async () => {
  const { url, asked } = await server(status(404, 'model "llama3" not found'));
  const { result } = await testAgent(agent, { input: 'Where is it?', model: ollama(url) });
  expect(result).toMatchObject({ status: 'error', errorCode: 'model_not_found', error: 'model "llama3" not found' });
  expect(asked).toHaveLength(1);
});

test('an aborted call closes its request', async () => {
  const closed = Promise.withResolvers<void>();
  const { url } = await server((response) => {
    response.write(`${JSON.stringify({ message: { content: 'Her' } })}\n`);
    response.on('close', () => closed.resolve());
  });
  const controller = new AbortController();
  const request = { model: 'llama3', instructions: [], conversation: [], tools: [], settings: {} };
  const call = ollama(url).call(request, { signal: controller.signal, onDelta: () => controller.abort(new Error('enough')) });
  await expect(call).rejects.toThrow('enough');
  await closed.promise;
});

test('models of two packages of the AI SDK are clients of a worker, which reads their keys when a call needs them', async () => {
  expect(providers.anthropic.capabilities).toEqual({ structuredOutput: true, contextTokens: 200_000 });
  expect(providers.bedrock.capabilities).toEqual({ structuredOutput: false });
  const request = { model: 'claude-sonnet-4-5', instructions: [], conversation: [], tools: [], settings: {} };
  await expect(providers.anthropic.call(request, { signal: AbortSignal.timeout(5_000) })).rejects.toMatchObject({
    code: 'secret_missing',
    message: expect.stringContaining('"anthropic"'),
  });
});

test('the guide shows the executed code of the provider', () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const code = read('examples/provider/ollama.ts');
  expect(read('docs/providers.md')).toContain(`<!-- examples/provider/ollama.ts -->\n\`\`\`ts\n${code}\`\`\``);
});
