import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildRequest } from '../../../../src/model/build-request.ts';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import { defined, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { ConversationEvent } from '../../../../src/core/domain/model.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import { newSnapshot, snapshotOf } from '../../../fakes/snapshot.ts';
import { messageTexts } from '../message-texts.ts';

const add = defineTool({ name: 'add', description: 'Adds two numbers.', parameters: z.object({ a: z.number() }), execute: () => 1 });
const JSON_AGENT: AgentSnapshot = {
  ...newSnapshot({ instructions: 'Be exact.', tools: [add], settings: { toolChoice: 'required', maxOutputTokens: 9 } }),
  replyFormat: 'json',
};

const ask: ConversationEvent = { author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] };
let calls = 0;

/** The status of a result, and its content. */
type Outcome = ['success' | 'error', ...JsonValue[]];

/** A call with its accompanying text, and its result. */
function called(name: string, args: JsonObject, [status, ...content]: Outcome, text = ''): ConversationEvent[] {
  const toolCallId = `c${(calls += 1)}`;
  const beside: ContentItem[] = text === '' ? [] : [{ type: 'message', role: 'assistant', content: text }];
  return [
    { author: 'bot', content: [...beside, { type: 'tool_call', toolCallId, name, arguments: args }] },
    { author: 'bot', content: [{ type: 'tool_result', toolCallId, name, status, content }] },
  ];
}

/** The messages of a request to the agent, as role and text. */
function messages(...events: ConversationEvent[]): string[] {
  return messageTexts(buildRequest(JSON_AGENT, [ask, ...events], false)).slice(1);
}

test('the provider gets no tools: an instruction describes them and the format', () => {
  const request = buildRequest(JSON_AGENT, [ask], false);
  expect(request.tools).toEqual([]);
  expect(request.settings).toEqual({ maxOutputTokens: 9, temperature: 0.7 });
  expect(request.instructions).toHaveLength(2);
  expect(request.instructions[0]).toBe('Be exact.');
  expect(request.instructions[1]).toContain('{"tool": "<name>", "arguments": {…}}');
  expect(request.instructions[1]).toContain('- add: Adds two numbers.\n  {');
});

test('a tool that only code may call is not described', () => {
  const tools = JSON_AGENT.tools.map((tool) => ({ ...tool, callers: ['code' as const] }));
  expect(buildRequest({ ...JSON_AGENT, tools }, [ask], false).instructions[1]).not.toContain('add');
});

test('run_code is described if the agent runs code', () => {
  const limits = { timeoutSeconds: 1, maxMemoryMb: 64, maxOutputBytes: 100, maxSteps: 3 };
  const executor = { kind: 'quickjs' as const, language: 'javascript' as const, limits, allowedImports: [] };
  const request = buildRequest({ ...JSON_AGENT, code: { executor, tier: 'remote' } }, [ask], false);
  expect(request.tools).toEqual([]);
  expect(request.instructions[1]).toContain('- run_code: Runs JavaScript code');
});

test('an output schema is part of the instruction, and not enforced by the provider', () => {
  const output = snapshotOf(defineAgent({ name: 'bot', model: 'scripted/model', output: z.object({ city: z.string() }) })).output;
  const request = buildRequest({ ...JSON_AGENT, ...(output === undefined ? {} : { output }) }, [ask], false);
  expect(request).not.toHaveProperty('output');
  expect(request.instructions[1]).toContain('"city"');
});

test('a call is rendered as the reply that it was, and its result as an observation', () => {
  expect(messages(...called('add', { a: 1 }, ['success', 3]), ...called('add', { a: 2 }, ['success', { n: 4 }], 'twice'))).toEqual([
    'assistant: {"tool":"add","arguments":{"a":1}}',
    'user: Observation: 3',
    'assistant: {"scratchpad":"twice","tool":"add","arguments":{"a":2}}',
    'user: Observation: {"n":4}',
  ]);
});

test('an observation is cut after 500 characters, without splitting one', () => {
  expect(messages(...called('add', { a: 1 }, ['success', '🙂'.repeat(501)]))[1]).toBe(`user: Observation: ${'🙂'.repeat(500)}...`);
  expect(messages(...called('add', { a: 1 }, ['success', 'x'.repeat(500)]))[1]).toBe(`user: Observation: ${'x'.repeat(500)}`);
  expect(messages(...called('add', { a: 1 }, ['success']))[1]).toBe('user: Observation: (no output)');
});

test('errors say if the arguments or the tool are to blame', () => {
  const problem = `Invalid arguments for 'add': ${'x'.repeat(600)}`;
  expect(messages(...called('add', {}, ['error', problem]))[1]).toBe(`user: ArgError: ${problem}`);
  expect(messages(...called('add', { a: 1 }, ['error', 'nope']))[1]).toBe('user: ToolError: nope');
  expect(messages(...called('add', { a: 1 }, ['error', 'y'.repeat(600)]))[1]).toBe(`user: ToolError: ${'y'.repeat(489)}...`);
});

test('replies that could not be used are rendered with the problem; an empty reply is not', () => {
  expect(messages(...called('unusable_reply', { reason: 'not_json' }, ['error', 'No JSON.'], 'I think'))).toEqual([
    'assistant: I think',
    'user: No JSON.',
  ]);
  expect(messages(...called('unusable_reply', { reason: 'scratchpad' }, ['error', 'Scratchpad noted.'], 'hm'))).toEqual([
    'assistant: {"scratchpad":"hm"}',
    'user: Scratchpad noted: hm',
  ]);
  expect(messages(...called('unusable_reply', { reason: 'empty' }, ['error', 'Empty.'], '{}'))).toEqual([]);
});

test('an earlier answer is rendered as an answer, a structured one as its value', () => {
  const answer = (content: string): ConversationEvent => ({ author: 'bot', content: [{ type: 'message', role: 'assistant', content }] });
  expect(messages(answer('four'), ask)).toEqual(['assistant: {"answer":"four"}', 'user: Q']);
  const structured = { ...JSON_AGENT, output: { mode: 'schema' as const, schema: {}, providerSchema: {}, strict: false, maxRetries: 0 } };
  expect(messageTexts(buildRequest(structured, [ask, answer('{"n":1}')], false))[1]).toBe('assistant: {"answer":{"n":1}}');
});

test('a reply that was interrupted is rendered as it arrived, and not as an answer', () => {
  const said = (content: string): ConversationEvent => ({ author: 'bot', content: [{ type: 'message', role: 'assistant', content }] });
  const parts = ['{"tool": "add", "argu', '```json\n{"answer": "On', '{ "scr', '{"tool":"add","arguments":{}}', '{'];
  expect(messages(...parts.map(said), ask)).toEqual([...parts.map((text) => `assistant: ${text}`), 'user: Q']);
  expect(messages(said('{name} is a placeholder'), ask)[0]).toBe('assistant: {"answer":"{name} is a placeholder"}');
  const structured = { ...JSON_AGENT, output: { mode: 'schema' as const, schema: {}, providerSchema: {}, strict: false, maxRetries: 0 } };
  const rendered = messageTexts(buildRequest(structured, [ask, said('{"tool":"hammer"}'), said('{"answer": {"to'), ask], false));
  expect(rendered.slice(1, -1)).toEqual(['assistant: {"answer":{"tool":"hammer"}}', 'assistant: {"answer": {"to']);
});

test('media of a result follow its text', () => {
  const image = { type: 'image', url: 'https://example.com/a.png' };
  const request = buildRequest(JSON_AGENT, [ask, ...called('add', { a: 1 }, ['success', 'seen', image])], false);
  expect(request.conversation.at(-1)?.content).toEqual([
    { type: 'message', role: 'user', content: [{ type: 'text', text: 'Observation: seen\n[Image]' }, image] },
  ]);
});

test('items of the provider stay with the answer that they belong to, with their account', () => {
  const [asked, result] = called('add', { a: 1 }, ['success', 3]);
  const items = { providerItems: [{ reasoning: 'r' }], account: 'acme' };
  const given = [ask, { ...asked!, ...items }, result!, { ...asked!, lostItems: true as const }, result!];
  const request = buildRequest(JSON_AGENT, given, false);
  const ofItems = request.conversation.map(({ providerItems, account, lostItems }) => defined({ providerItems, account, lostItems }));
  expect(ofItems).toEqual([{}, items, {}, { lostItems: true }, {}]);
});

test('the final attempt has the lowest temperature and ends with its request', () => {
  const request = buildRequest(JSON_AGENT, [ask, ...called('unusable_reply', { reason: 'not_json' }, ['error', 'No.'], 'x')], true);
  expect(request.settings.temperature).toBe(0);
  expect(messageTexts(request).at(-1)).toBe('user: Return your best final answer now.');
});
