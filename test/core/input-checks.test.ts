import { describe, expect, it, test } from 'vitest';
import fc from 'fast-check';
import { BYTE_BUDGETS } from '../../src/core/domain/byte-budgets.ts';
import { checkProgramInput, checkRunInput, messageProblem } from '../../src/core/input-checks.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json.ts';
import { checkProgram } from '../../src/core/program/check/check-program.ts';
import { isBlank, needsResponse } from '../../src/core/domain/content.ts';
import { CONTINUING_INPUT, RUN_INPUT } from '../../src/core/domain/run-input.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { propertiesOf } from '../../src/core/json-schema/json-schema.ts';
import { conversation } from './domain/conversations.ts';

test.each([
  { agent: 'a', input: 'Hello' },
  { agent: 'a', input: '.' },
  {
    agent: 'a',
    input: [
      { type: 'text', text: '' },
      { type: 'image', url: 'https://a.example/b.png' },
    ],
  },
  { agent: 'a', input: 'Hello', deps: { user: { id: 7 } }, limits: { steps: 3 } },
  { agent: 'a', input: 'Hello', limits: { toolCalls: 0, toolCallsByName: { search: 2 }, totalTokens: 9, costUsd: 0.5, deadlineMs: 1_000 } },
  {
    agent: 'a',
    input: 'Hello',
    model: 'gateway/vendor/m',
    settings: { toolChoice: { tool: 'x' }, extra: { seed: 1 } },
    tags: ['acme', 'nightly'],
  },
  {
    agent: 'a',
    input: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', url: 'https://example.com/a.png', width: 4 },
    ],
  },
  { agent: 'a', input: [{ type: 'file', data: 'QQ==', mediaType: 'text/plain', name: 'a.txt' }] },
])('%j starts a run', (value) => {
  expect(checkRunInput(value)).toEqual({ ok: true, input: value });
});

test.each([
  [undefined, 'expected an object such as {"agent": "name", "input": "text"}, got nothing'],
  [null, 'expected object, got null'],
  [7, 'expected object, got number'],
  ['hello', 'expected object, got string'],
  [[], 'expected object, got array'],
  [{}, 'missing required field "agent"; missing required field "input"'],
  [{ input: 'x' }, 'missing required field "agent"'],
  [{ agent: '', input: 'x' }, 'agent: expected at least 1 character, got 0'],
  [{ agent: 'a', input: 7 }, 'input: expected string or array, got number'],
  [{ agent: 'a', input: [] }, 'input: expected at least 1 item, got 0'],
  [{ agent: 'a', input: 'x', modell: 'y' }, 'unknown field "modell"'],
  [{ agent: 'a', input: 'x', model: 'y' }, 'model: expected text that matches "^[^/]+/.", got "y"'],
  [{ agent: 'a', input: 'x', settings: { heat: 1 } }, 'settings: unknown field "heat"'],
  [{ agent: 'a', input: 'x', settings: { temperature: 3 } }, 'settings.temperature: expected a number <= 2, got 3'],
  [{ agent: 'a', input: '' }, 'input: expected a text or media, got an empty text'],
  [{ agent: 'a', input: ' \n\t\u00a0' }, 'input: expected a text or media, got only white space'],
  [{ agent: 'a', input: [{ type: 'text', text: ' ' }] }, 'input: expected a text or media, got only white space'],
  [{ agent: 'a', input: '', session: {} }, 'input: expected a text or media, got an empty text'],
  [
    { agent: 'a', messages: [{ type: 'message', role: 'user', content: ' ' }] },
    'messages[0]: expected a text or media, got only white space',
  ],
  [{ agent: 'a', input: 'x', tags: ['a', 'a'] }, 'tags[1]: expected a tag that is not listed yet, got "a"'],
  [{ agent: 'a', input: 'x', tags: [''] }, 'tags[0]: expected at least 1 character, got 0'],
  [{ agent: 'a', input: 'x', tags: 'acme' }, 'tags: expected array, got string'],
  [{ agent: 'a', input: 'x', deps: [] }, 'deps: expected object, got array'],
  [
    { agent: 'a', input: 'x', limits: { steps: 0.5 } },
    'limits.steps: expected integer, got 0.5; limits.steps: expected a number >= 1, got 0.5',
  ],
  [{ agent: 'a', input: 'x', limits: 5 }, 'limits: expected object, got number'],
  [{ agent: 'a', input: 'x', maxIterations: 5 }, 'unknown field "maxIterations"'],
  [{ agent: 'a', input: 'x', limits: { maxIterations: 5 } }, 'limits: unknown field "maxIterations"'],
  [{ agent: 'a', input: 'x', limits: { costUsd: 0 } }, 'limits.costUsd: expected a number > 0, got 0'],
  [{ agent: 'a', input: 'x', limits: { deadlineMs: 1e300 } }, 'limits.deadlineMs: expected a number <= 315576000000000, got 1e+300'],
  [{ agent: 'a', input: 'x', limits: { toolCalls: 1e300 } }, 'limits.toolCalls: expected a number <= 9007199254740991, got 1e+300'],
  [{ agent: 'a', input: 'x', limits: { steps: 2 ** 53 } }, 'limits.steps: expected a number <= 9007199254740991, got 9007199254740992'],
  [
    { agent: 'a', input: 'x', limits: { toolCallsByName: { search: -1 } } },
    'limits.toolCallsByName.search: expected a number >= 0, got -1',
  ],
  [{ agent: 'a', input: [{ type: 'picture' }] }, 'input[0].type: expected "text", "image", "audio", "video" or "file", got "picture"'],
  [{ agent: 'a', input: [{ type: 'text' }] }, 'input[0]: missing required field "text"'],
  [{ agent: 'a', input: [{ type: 'image', url: 7 }] }, 'input[0].url: expected string, got number'],
  [{ agent: 'a', input: [{ type: 'image' }] }, 'input[0]: expected exactly one of "url" and "data", got neither'],
  [{ agent: 'a', input: [{ type: 'audio', url: 'u', data: 'd' }] }, 'input[0]: expected exactly one of "url" and "data", got both'],
  [
    { agent: 'a', input: [{ type: 'image', spilled: { store: 's', claim: {}, bytes: 1, sha256: 'x' } }] },
    'input[0]: expected "url" or "data", got "spilled": only a file that a model has made is in a payload store',
  ],
])('%j is refused with the path and the expectation', (value, problem) => {
  expect(checkRunInput(value)).toEqual({ ok: false, code: 'invalid_input', problem });
});

test.each(Object.keys(propertiesOf(RUN_INPUT)))('an input is refused for "%s" as its whole schema refuses it', (name) => {
  const problemsOf = (value: JsonObject): string =>
    problemsText(checkJson('messages' in value || 'session' in value ? CONTINUING_INPUT : RUN_INPUT, value));
  const kinds = [null, 7, '', [], {}, [{}], { type: 'text' }];
  const refused = kinds
    .map((member): JsonObject => ({ agent: 'a', input: 'x', [name]: member }))
    .filter((value) => problemsOf(value) !== '');
  expect(refused).not.toHaveLength(0);
  expect(refused.map(checkRunInput)).toEqual(refused.map((value) => ({ ok: false, code: 'invalid_input', problem: problemsOf(value) })));
});

describe('the input of a start has a maximum size', () => {
  const { startInput, deps } = BYTE_BUDGETS;
  const quotes = 2;
  const object = '{"a":""}'.length;

  test.each([
    ['a text one byte below the budget', { input: 'x'.repeat(startInput - quotes - 1) }, undefined],
    ['a text at the budget', { input: 'x'.repeat(startInput - quotes) }, undefined],
    [
      'a text one byte above the budget',
      { input: 'x'.repeat(startInput - quotes + 1) },
      'input: 400001 bytes of JSON, over 400000: pass large media by URL, and long texts through a tool',
    ],
    [
      'parts above the budget',
      { input: [{ type: 'image', data: 'x'.repeat(startInput) }] },
      'input: 400028 bytes of JSON, over 400000: pass large media by URL, and long texts through a tool',
    ],
    ['deps one byte below the budget', { deps: { a: 'x'.repeat(deps - object - 1) } }, undefined],
    ['deps at the budget', { deps: { a: 'x'.repeat(deps - object) } }, undefined],
    [
      'deps one byte above the budget',
      { deps: { a: 'x'.repeat(deps - object + 1) } },
      'deps: 150001 bytes of JSON, over 150000: pass ids, and let tools look up the rest',
    ],
    ['limits at their budget', { limits: limitsOf(64_000) }, undefined],
    ['limits one byte above their budget', { limits: limitsOf(64_001) }, 'limits: 64001 bytes of JSON, over 64000: name fewer tools'],
  ])('%s', (_, fields, problem) => {
    const value = { agent: 'a', input: 'hello', ...fields };
    expect(checkRunInput(value)).toEqual(
      problem === undefined ? { ok: true, input: value } : { ok: false, code: 'payload_too_large', problem },
    );
  });
});

function limitsOf(bytes: number): object {
  const others = '{"toolCallsByName":{"":1}}'.length;
  return { toolCallsByName: { ['x'.repeat(bytes - others)]: 1 } };
}

const DOCUMENT = { step: 'Letter', model: 'p/m', instructions: ['A persona.'], tools: ['find'] };
const PARENT = { runId: 'run-1', depth: 1, checkMs: 1_000 };

test('the run of a step with tools has its agent in its input', () => {
  const rules = { anchors: ['A'], type: 'T', confidenceFloor: 0.5, requiredFields: ['f'], range: { min: 0 }, lenient: true };
  const document = { ...DOCUMENT, ...rules, settings: { temperature: 0 }, output: { type: 'object' } };
  const value = { agent: 'shop/u.Letter', input: 'x', parent: PARENT, document };
  expect(checkRunInput(value)).toEqual({ ok: true, input: value });
});

test.each([
  [undefined, DOCUMENT, 'document: expected only the name of an agent: only a program starts an agent given as a document'],
  [PARENT, { ...DOCUMENT, tools: [] }, 'document.tools: expected at least 1 item, got 0'],
  [PARENT, { ...DOCUMENT, tools: ['find', 'find'] }, 'document.tools: Duplicate items at indexes 0 and 1'],
  [PARENT, { ...DOCUMENT, model: 'm' }, 'document.model: expected text that matches'],
  [PARENT, { ...DOCUMENT, instructions: 'x' }, 'document.instructions: expected array, got string'],
  [PARENT, { ...DOCUMENT, lenient: false }, 'document.lenient: expected true, got false'],
  [PARENT, { ...DOCUMENT, range: { least: 1 } }, 'document.range: unknown field "least"'],
  [PARENT, { ...DOCUMENT, mcp: [] }, 'document: unknown field "mcp"'],
  [PARENT, { ...DOCUMENT, instructions: ['x'.repeat(BYTE_BUDGETS.snapshot)] }, `over ${BYTE_BUDGETS.snapshot}`],
])('the run of a step with a forged document is refused (%#)', (parent, document, problem) => {
  const value = { agent: 'a', input: 'x', document, ...(parent === undefined ? {} : { parent }) };
  expect(checkRunInput(value)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) as string });
});

test('the run of an agent that a call has started may refer to the call for its input', () => {
  const tree = { depth: 3, alive: 20, runs: 4 };
  const value = { agent: 'a', input: 'x', parent: { ...PARENT, tree }, fromCall: { eventId: 'e', index: 1, input: true, deps: true } };
  expect(checkRunInput(value)).toEqual({ ok: true, input: value });
});

test.each([
  [{ fromCall: { eventId: 'e', index: 0 } }, 'fromCall: expected no reference to a call'],
  [{ parent: PARENT, fromCall: { eventId: 'e' } }, 'fromCall: missing required field "index"'],
  [{ parent: PARENT, fromCall: { eventId: '', index: 0 } }, 'fromCall.eventId: expected'],
  [{ parent: { ...PARENT, depth: 21 } }, 'parent.depth: expected'],
  [{ parent: { ...PARENT, tree: { depth: 1, alive: 1 } } }, 'parent.tree: missing required field "runs"'],
])('the run of an agent with a forged reference to its call is refused (%#)', (fields, problem) => {
  const checked = checkRunInput({ agent: 'a', input: 'x', ...fields });
  expect(checked).toMatchObject({ ok: false, problem: expect.stringContaining(problem) as string });
});

/** A program with a step inside this many branches. */
function deepProgram(levels: number): JsonObject {
  let step: JsonObject = { name: 'S', ask: { prompt: 'Go.' } };
  for (let level = 1; level < levels; level += 1) {
    step = { name: `B${level}`, branch: { cases: [{ when: { of: 'input.n', is: { properties: { a: { const: 1 } } } }, steps: [step] }] } };
  }
  return { version: 1, name: 'deep', model: 'p/m', units: [{ name: 'u', steps: [step] }] };
}

function nested(levels: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

describe('a document as the input of a run', () => {
  it('may be as deep as blocks can be', () => {
    expect(checkProgram(deepProgram(16)).problems).toEqual([]);
    expect(checkProgramInput({ program: deepProgram(16) })).toMatchObject({ ok: true });
  });

  it('is refused if it is deeper than any program, and so are other values at their depth', () => {
    expect(checkProgramInput({ program: { ...deepProgram(1), output: nested(112) } })).toMatchObject({
      ok: false,
      problem: 'program: nested deeper than 112 levels',
    });
    expect(checkProgramInput({ program: 'p', input: { a: nested(70) } })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('input: nested deeper than 64 levels'),
    });
  });

  it.each([null, [], 'p', 1])('is refused if the input is %j', (input) => {
    expect(checkProgramInput(input)).toMatchObject({ ok: false, code: 'invalid_input', problem: expect.stringMatching(/./) });
  });
});

test.each([
  [{ id: 'm1', content: 'Hello' }],
  [{ id: 'm1', content: '.' }],
  [
    {
      id: 'x'.repeat(64),
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image', url: 'https://example.com/a.png' },
      ],
    },
  ],
])('%j is a message', (value) => {
  expect(messageProblem(value)).toBeUndefined();
});

test.each([
  [undefined, 'expected {"id": "your own", "content": "text"}, got nothing'],
  [null, 'expected object, got null'],
  ['Hello', 'expected object, got string'],
  [{}, 'missing required field "id"; missing required field "content"'],
  [{ id: '', content: 'x' }, 'id: expected at least 1 character, got 0'],
  [{ id: 'x'.repeat(65), content: 'x' }, 'id: expected at most 64 characters, got 65'],
  [{ id: 7, content: 'x' }, 'id: expected string, got number'],
  [{ id: 'm1', content: [] }, 'content: expected at least 1 item, got 0'],
  [{ id: 'm1', content: '' }, 'content: expected a text or media, got an empty text'],
  [{ id: 'm1', content: [{ type: 'text', text: '\n' }] }, 'content: expected a text or media, got only white space'],
  [{ id: 'm1', content: 'x', mode: 'soon' }, 'mode: expected "queue", "steer" or "interrupt", got "soon"'],
  [{ id: 'm1', content: [{ type: 'image' }] }, 'content[0]: expected exactly one of "url" and "data", got neither'],
])('%j is refused, with the path', (value, message) => {
  expect(messageProblem(value)).toEqual({ code: 'invalid_input', message });
});

describe('a message at its budget', () => {
  const text = (bytes: number): string => `é${'x'.repeat(bytes - 4)}`;

  test.each([BYTE_BUDGETS.message - 1, BYTE_BUDGETS.message])('is accepted with %d bytes', (bytes) => {
    expect(messageProblem({ id: 'm1', content: text(bytes) })).toBeUndefined();
  });

  test('is refused with one byte more, with both sizes and the remedy', () => {
    expect(messageProblem({ id: 'm1', content: text(BYTE_BUDGETS.message + 1) })).toEqual({
      code: 'payload_too_large',
      message: '"content" is 100001 bytes of JSON, over 100000: pass large media by URL, or send it in parts',
    });
  });
});

const said = (role: string, content: unknown = 'x'): object => ({ type: 'message', role, content });
const call = (toolCallId: string, more: object = {}): object => ({ type: 'tool_call', toolCallId, name: 't', arguments: {}, ...more });
const result = (toolCallId: string, more: object = {}): object => ({
  type: 'tool_result',
  toolCallId,
  name: 't',
  status: 'success',
  content: [],
  ...more,
});
const spilled = { store: 'files', claim: { key: 'k' }, bytes: 7, sha256: '00' };

test.each<[string, object]>([
  ['before an input', { messages: [said('user'), said('assistant')], input: 'And?' }],
  ['of none before an input', { messages: [], input: 'Q' }],
  ['alone, if the user has the last word', { messages: [said('user')] }],
  ['alone, if a result has the last word', { messages: [said('user'), call('c1'), result('c1')] }],
  ['alone, if a call has the last word', { messages: [said('user'), call('c1')] }],
  ['with parts', { messages: [said('user', [{ type: 'image', url: 'u' }])] }],
  ['with results of any values, in any order', { messages: [call('c1'), call('c2'), result('c2', { content: [1, null] }), result('c1')] }],
  ['with a result in a payload store', { messages: [call('c1'), result('c1', { spilled })] }],
])('a conversation %s starts a run', (_, opening) => {
  const value = { agent: 'a', ...opening };
  expect(checkRunInput(value)).toEqual({ ok: true, input: value });
});

test.each<[string, unknown, string]>([
  ['no list', 'x', 'messages: expected array, got string'],
  ['an unknown type', [said('user'), { type: 'shout' }], 'messages[1].type: expected "message", "tool_call" or "tool_result", got "shout"'],
  ['no item', [null], 'messages[0]: expected object, got null'],
  ['invalid content', [said('user', 7)], 'messages[0].content: expected string or array, got number'],
  ['an unknown field', [{ ...said('user'), name: 'ann' }], 'messages[0]: unknown field "name"'],
  ['arguments as text', [call('c1', { arguments: '{}' })], 'messages[0].arguments: expected object, got string'],
  ['a call without an id', [call('')], 'messages[0].toolCallId: expected at least 1 character, got 0'],
  [
    'a part without a source',
    [said('user', [{ type: 'image' }])],
    'messages[0].content[0]: expected exactly one of "url" and "data", got neither',
  ],
  [
    'a second call of an id',
    [call('c1'), result('c1'), call('c1')],
    'messages[2]: expected a "toolCallId" that no earlier call has, got "c1"',
  ],
  ['a result without a call', [said('user'), result('c9')], misplaced(1, 'c9')],
  ['a result before its call', [result('c1'), call('c1')], misplaced(0, 'c1')],
  ['a second result', [call('c1'), result('c1'), result('c1')], misplaced(2, 'c1')],
  ['a result after another message', [call('c1'), said('user'), result('c1')], misplaced(2, 'c1')],
  ['a result after another answer', [call('c1'), call('c2'), result('c2'), call('c3'), result('c1')], misplaced(4, 'c1')],
])('a conversation with %s is refused with the path, with an input and without', (_, messages, problem) => {
  for (const more of [{}, { input: 'Q' }]) {
    expect(checkRunInput({ agent: 'a', messages, ...more })).toEqual({ ok: false, code: 'invalid_input', problem });
  }
});

function misplaced(index: number, id: string): string {
  return `messages[${index}]: expected the result of an unanswered call in the preceding answer, got the result of "${id}"`;
}

test.each<[string, object[], string]>([
  ['ends with an answer', [said('user'), said('assistant'), said('system')], '"messages" end with an answer of the assistant'],
  ['is empty', [], '"messages" are empty'],
])('a conversation that %s needs an input', (_, messages, why) => {
  const problem = `${why}: give "input", what the user says next`;
  expect(checkRunInput({ agent: 'a', messages })).toEqual({ ok: false, code: 'invalid_input', problem, lacksInput: true });
});

test('of many problems, the first are listed', () => {
  const checked = checkRunInput({ agent: 'a', messages: Array.from({ length: 1_000 }, (_, index) => result(`c${index}`)) });
  expect(checked).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/^messages\[0\]: .*messages\[19\]: .*; and 980 more problems$/) as string,
  });
});

test('every conversation as models have it starts a run exactly if it needs a response, or with an input', () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      expect(checkRunInput({ agent: 'a', messages, input: 'Q' }).ok).toBe(true);
      const last = messages.at(-1);
      const isBlankAtEnd = last?.type === 'message' && last.role === 'user' && isBlank(last.content);
      expect(checkRunInput({ agent: 'a', messages }).ok).toBe(messages.length > 0 && needsResponse(messages) && !isBlankAtEnd);
    }),
  );
});

describe('a conversation has a size, together with the input', () => {
  const { startInput } = BYTE_BUDGETS;
  const around = '[{"type":"message","role":"user","content":""}]'.length + '"Q"'.length;

  test.each<[string, number, string | undefined]>([
    ['at the budget', startInput, undefined],
    [
      'one byte above it',
      startInput + 1,
      'messages: 400001 bytes of JSON together with the input, over 400000: leave out or summarize the oldest',
    ],
  ])('%s', (_, bytes, problem) => {
    const value = { agent: 'a', input: 'Q', messages: [said('user', 'x'.repeat(bytes - around))] };
    const expected = problem === undefined ? { ok: true, input: value } : { ok: false, code: 'payload_too_large', problem };
    expect(checkRunInput(value)).toEqual(expected);
  });

  test('of thousands of small messages', () => {
    const messages = Array.from({ length: 8_000 }, (_, index) => said(index % 2 === 0 ? 'user' : 'assistant', ''));
    expect(checkRunInput({ agent: 'a', input: 'Q', messages }).ok).toBe(true);
  });
});
