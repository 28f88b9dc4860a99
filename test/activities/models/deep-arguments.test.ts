import { describe, expect, test } from 'vitest';
import { parseToolCall } from '../../../src/model/interpret-response.ts';
import type { Handler } from '../../fakes/openai-server.ts';
import { fakeProvider } from './fake-provider.ts';

const { ask } = fakeProvider();

const LEVELS = 20_000;

/** Arguments as JSON, nested in lists or in objects, whole or without their ends. */
const NESTED = {
  lists: `{"x":${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}}`,
  objects: `{"x":${'{"a":'.repeat(LEVELS)}1${'}'.repeat(LEVELS)}}`,
};

const body =
  (json: string): Handler =>
  (reply) =>
    reply.text(200, json, { 'content-type': 'application/json' });

const events =
  (...datas: string[]): Handler =>
  (reply) => {
    reply.raw(datas.map((data) => `data: ${data}\n\n`).join(''));
    reply.end();
  };

const chatCall = (given: string): string => `{"index":0,"id":"c1","type":"function","function":{"name":"search_web","arguments":${given}}}`;
const item = (given: string): string => `{"type":"function_call","id":"fc","call_id":"c1","name":"search_web","arguments":${given}}`;
const response = (given: string): string => `{"id":"r","status":"completed","output":[${item(given)}]}`;

/** The answers with a call of these arguments, by the API and the way. */
const ANSWERS: [string, 'chat' | 'responses', (given: string) => Handler][] = [
  [
    'a completion',
    'chat',
    (given) =>
      body(`{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[${chatCall(given)}]}}]}`),
  ],
  [
    'a streamed completion',
    'chat',
    (given) => events(`{"choices":[{"index":0,"finish_reason":"tool_calls","delta":{"tool_calls":[${chatCall(given)}]}}]}`, '[DONE]'),
  ],
  ['a response', 'responses', (given) => body(response(given))],
  [
    'a streamed response',
    'responses',
    (given) =>
      events(
        `{"type":"response.output_item.added","output_index":0,"item":${item('""')}}`,
        `{"type":"response.output_item.done","output_index":0,"item":${item(given)}}`,
        `{"type":"response.completed","response":${response(given)}}`,
      ),
  ],
];

describe('arguments nested 20,000 deep are an error result of their call, and the answer is read', () => {
  const forms = ANSWERS.flatMap(([name, api, answer]) =>
    Object.entries(NESTED).flatMap(([kind, json]): [string, 'chat' | 'responses', Handler][] => [
      [`${kind} as text in ${name}`, api, answer(JSON.stringify(json))],
      [`${kind} as a value in ${name}`, api, answer(json)],
    ]),
  );
  test.each(forms)('%s', async (_, api, handler) => {
    const { toolCalls } = await ask(handler, { options: { api }, context: { onDelta: () => undefined } });
    expect(toolCalls).toHaveLength(1);
    expect(parseToolCall(toolCalls[0])).toMatchObject({
      toolCallId: 'c1',
      name: 'search_web',
      arguments: {},
      problem: expect.stringMatching(/nested deeper than 64 levels/) as string,
    });
  });
});
