import { describe, expect, test } from 'vitest';
import { BYTE_BUDGETS } from '../../../src/core/domain/byte-budgets.ts';
import { checkRunInput } from '../../../src/core/wire-schemas/run-input-schema.ts';

test.each([
  { agent: 'a', input: 'Hello' },
  { agent: 'a', input: '' },
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
  [{ agent: 'a', input: 'x', tags: ['a', 'a'] }, 'tags[1]: expected a tag that is not there yet, got "a"'],
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
])('%j is refused with the path and the expectation', (value, problem) => {
  expect(checkRunInput(value)).toEqual({ ok: false, code: 'invalid_input', problem });
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
  [undefined, DOCUMENT, 'document: expected the name of an agent alone: only a program starts an agent that it has itself'],
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
