import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { checkCodeCalls, runCodeTool } from '../../../src/core/code/run-code.ts';
import { isCodeCallId } from '../../../src/core/code/callable-tools.ts';
import type { CodeCall } from '../../../src/core/domain/execution.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { codeTools } from '../../../src/core/code/describe-functions.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { custom, defineTool, type ExecutorDefinition, python, quickjs } from '../../../src/index.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';

const schema = {
  type: 'object',
  properties: { id: { type: 'number' }, note: { type: 'string' }, tag: { type: ['string', 'null'] } },
  required: ['id'],
  additionalProperties: false,
};
const snapshot = testSnapshot({
  tools: [testTool('orders', { schema }), testTool('plan', { callers: ['model'] }), testTool('pay', { callers: ['code'] })],
});
const place = { snapshot, callId: 'c1', before: 0 };

test('calls are named by the call of run_code and their number in the cell', () => {
  const calls = [
    { tool: 'orders', arguments: { id: 41 } },
    { tool: 'pay', arguments: { any: true } },
  ];
  expect(checkCodeCalls(calls, { ...place, before: 2 })).toEqual({
    calls: [
      { type: 'tool_call', toolCallId: 'c1.3', name: 'orders', arguments: { id: 41 } },
      { type: 'tool_call', toolCallId: 'c1.4', name: 'pay', arguments: { any: true } },
    ],
  });
});

test('invalid arguments are a problem, in words for a model', () => {
  expect(checkCodeCalls([{ tool: 'orders', arguments: { id: 'x' } }], place).problems).toEqual({
    'c1.1': "Invalid arguments for 'orders': id: expected number, got string",
  });
});

test.each(['run_code', 'final_answer', 'nothing', 'plan', '__proto__'])('%s is unknown to code', (tool) => {
  expect(checkCodeCalls([{ tool, arguments: {} }], place).problems).toEqual({ 'c1.1': `Tool '${tool}' not found in agent's tool list` });
});

test('a null for an argument that may be left out is left out, and stays if the schema accepts it', () => {
  const { calls, problems } = checkCodeCalls([{ tool: 'orders', arguments: { id: 1, note: null, tag: null } }], place);
  expect(calls[0]?.arguments).toEqual({ id: 1, tag: null });
  expect(problems).toBeUndefined();
});

test('an argument that is required must not be null', () => {
  expect(checkCodeCalls([{ tool: 'orders', arguments: { id: null } }], place).problems).toHaveProperty(['c1.1']);
});

test("each call has its own id, in order, distinct from the ids of the model's calls, and every problem belongs to a call", () => {
  const call = fc.record({ tool: fc.constantFrom('orders', 'pay', 'plan', 'x'), arguments: fc.dictionary(fc.string(), fc.jsonValue()) });
  fc.assert(
    fc.property(fc.array(call), fc.nat({ max: 100 }), (codeCalls, before) => {
      const { calls, problems = {} } = checkCodeCalls(codeCalls as CodeCall[], { ...place, before });
      const ids = calls.map(({ toolCallId }) => toolCallId);
      expect(ids).toEqual(codeCalls.map((_, index) => `c1.${before + index + 1}`));
      expect(ids.every(isCodeCallId)).toBe(true);
      expect(calls.map(({ name }) => name)).toEqual(codeCalls.map(({ tool }) => tool));
      for (const id of Object.keys(problems)) expect(ids).toContain(id);
    }),
  );
});

const orders = defineTool({
  name: 'orders',
  description: 'Reads an order.\nFails if there is none.',
  parameters: z.object({ id: z.number().describe('The number\nof the order.'), note: z.string().optional() }),
  execute: () => 'found',
});
const refund = defineTool({
  name: 'refund',
  description: 'Pays back.',
  parameters: z.object({ id: z.number() }),
  execute: () => 1,
  callers: ['code'],
});
const plan = defineTool({ name: 'plan', description: 'Plans.', parameters: z.object({}), execute: () => 1, callers: ['model'] });

function description(executor: ExecutorDefinition): string {
  return runCodeTool(newSnapshot({ tools: [orders, plan, refund], code: { executor } }))?.description ?? '';
}

function descriptionOf(...tools: ReturnType<typeof testTool>[]): string {
  return runCodeTool({ ...newSnapshot({ tools: [orders], code: { executor: quickjs() } }), tools })?.description ?? '';
}

test('an agent without code has no such tool', () => {
  expect(runCodeTool(newSnapshot({ tools: [orders] }))).toBeUndefined();
});

test('the model reads the tools as functions of JavaScript, and the rules of the code', () => {
  const executor = quickjs({ limits: { timeoutSeconds: 10, maxMemoryMb: 64 } });
  expect(description(executor))
    .toBe(`Runs JavaScript code, isolated, and returns what it prints. Use it in place of several tool calls: call functions in loops, filter and combine their results, compute.

The code can call these functions, besides what JavaScript has:

// Reads an order.
// Fails if there is none.
//   id: The number of the order.
orders(args: {id: number; note?: string}): any

// Pays back.
refund(args: {id: number}): any

Rules:
- orders({…}) waits and returns the result: it needs no await.
- tools.orders({…}) does not wait: it returns a promise. Calls that are pending together run together: await Promise.all(list.map((one) => tools.orders({…}))).
- A call that fails, or that a person rejects, throws an error with the reason.
- print(…), or console.log(…), writes to the output. You read the output, the final answer and errors, and nothing else: print what you need, and no more.
- final_answer(value) gives the result of the code, as a JSON value.
- Variables and functions stay for the next code that you run.
- Nothing can be imported.
- Limits of one run of code: 10 s of time, without the time in which it waits for calls; 64 MB of memory; 10000 bytes of output, after which it is cut.`);
});

test('the model reads the tools as functions of Python, and the modules that it may import', () => {
  const text = description(python({ allowedImports: ['math', 'json'], limits: { timeoutSeconds: 0 } }));
  expect(text).toContain(
    '# Reads an order.\n# Fails if there is none.\n#   id: The number of the order.\ndef orders(id: float, note: str | None = None) -> Any\n',
  );
  expect(text).toContain('Only these modules can be imported: math, json.');
  expect(text).toContain('Limits of one run of code: 256 MB of memory;');
  expect(text).not.toContain('JavaScript');
  expect(description(custom({ command: ['cells'], language: 'python' }))).toContain('Runs Python code');
});

test('its parameters are one text, which a provider can enforce', () => {
  expect(runCodeTool(newSnapshot({ tools: [orders], code: { executor: quickjs() } }))).toMatchObject({
    name: 'run_code',
    parameters: { type: 'object', required: ['code'], additionalProperties: false },
    strict: true,
  });
});

test('an executor gives code the tools that it may call, with the names of their parameters in the order of the signature', () => {
  expect(codeTools(newSnapshot({ tools: [orders, plan, refund], code: { executor: quickjs() } }))).toEqual([
    { name: 'orders', parameters: ['id', 'note'] },
    { name: 'refund', parameters: ['id'] },
  ]);
});

describe('the description is bounded', () => {
  const huge: JsonObject = {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`p${index}`, { type: 'string', description: 'long '.repeat(100) }]),
    ),
  };

  test('a tool with very many parameters is a name and a hint', () => {
    const text = descriptionOf(testTool('big', { schema: huge }), testTool('big_too', { schema: huge, callers: ['code'] }));
    expect(text).toContain(
      '// Its parameters are too long to show here: see the parameters of the tool "big". They are named "p0", "p1", ',
    );
    expect(text).toContain('\nbig(args: object): any\n');
    expect(text).toContain(
      '// Its parameters are too long to show here, and arguments that do not fit throw an error that says what is expected.',
    );
    expect(text.length).toBeLessThan(4_000);
  });

  test('a long description of a tool is cut', () => {
    const text = descriptionOf(testTool('long', { description: 'word '.repeat(10_000) }));
    expect(text).toMatch(/word\.\.\.\nlong\(|word \.\.\.\nlong\(/);
    expect(text.length).toBeLessThan(4_000);
  });

  test('of very many tools, the last are only named', () => {
    const tools = Array.from({ length: 300 }, (_, index) => testTool(`tool${index}`, { description: 'd'.repeat(500) }));
    const text = descriptionOf(...tools);
    expect(text).toContain('// Further functions, which are not described here: tool');
    expect(text).toMatch(/ and \d+ more\.\n/);
    expect(text.length).toBeLessThan(35_000);
  });

  test('no description of a tool leaves its comment', () => {
    const text = descriptionOf(testTool('odd', { description: 'one\u2028two\r\nthree */ four' }));
    expect(text).toContain('// one\n// two\n// three */ four\nodd(');
  });
});
