import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Executed, executeTool } from '../../../activities/tool-calls/execute-tool.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { RunContext } from '../../../src/define/context.ts';
import { type AnyTool, toolOutput } from '../../../src/define/tool-definition.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { fakeContext } from '../../fakes/run-context.ts';

function contextOf(signal: AbortSignal = new AbortController().signal): RunContext {
  return fakeContext({ signal });
}

function toolThat(execute: () => unknown, more: { result?: z.ZodType } = {}): AnyTool {
  return defineTool({ name: 'probe', description: 'Probes.', parameters: z.object({}), execute, ...more });
}

async function run(tool: AnyTool, args: JsonObject = {}): Promise<Executed> {
  return executeTool({ tool, args, context: contextOf() });
}

describe('the return value of a tool becomes content', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;

  test.each([
    ['text', 'hello', ['hello']],
    ['an empty text', '', ['']],
    ['nothing', undefined, []],
    ['null', null, []],
    ['a number', 4, [4]],
    ['a number that JSON does not have', Number.POSITIVE_INFINITY, ['Infinity']],
    ['an object', { a: 1, gone: undefined }, [{ a: 1 }]],
    ['a list', [1, 'a'], [[1, 'a']]],
    ['a date', { at: new Date(0) }, [{ at: '1970-01-01T00:00:00.000Z' }]],
    ['a lone surrogate', 'a\ud800', ['a\ufffd']],
    ['text blocks', toolOutput(['a', { type: 'text', text: 'b' }]), ['a\nb']],
    [
      'blocks of several kinds',
      toolOutput([{ n: 1 }, 'a', { type: 'image', url: 'https://example.com/a.png' }, 'b']),
      ['a\nb', { n: 1 }, { type: 'image', url: 'https://example.com/a.png' }],
    ],
    ['no blocks', toolOutput([]), []],
  ])('%s', async (_, returned, content) => {
    expect(await run(toolThat(() => returned))).toEqual({ content, isError: false, durationMs: expect.any(Number) });
  });

  class Money {
    readonly #cents = 5;
    cents(): number {
      return this.#cents;
    }
  }
  class Row {
    readonly id = 1;
  }

  test.each([
    ['an object of a class with fields', { row: new Row() }, [{ row: { id: 1 } }]],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), [{ a: 1 }]],
    ['an object with toJSON', { link: new URL('https://example.com/') }, [{ link: 'https://example.com/' }]],
    ['one object at two paths', ((one) => ({ a: one, b: one }))({ n: 1 }), [{ a: { n: 1 }, b: { n: 1 } }]],
  ])('%s', async (_, returned, content) => {
    expect(await run(toolThat(() => returned))).toMatchObject({ content, isError: false });
  });

  test.each([
    ['a bigint', 1n, 'the result is a bigint: return a number or a text'],
    ['a bigint inside', { order: { total: 1n } }, '"order.total" is a bigint: return a number or a text'],
    ['a cycle', cyclic, '"self" leads back to an object that it is part of: return an id instead'],
    ['a function', (): void => undefined, 'the result is a function: call it, or leave it out'],
    ['a symbol', { kind: Symbol('x') }, '"kind" is a symbol: return a text'],
    ['a block with a bigint', toolOutput(['a', 1n as never]), '"[1]" is a bigint: return a number or a text'],
    ['a map', { rows: new Map([['a', 1]]) }, '"rows" is a Map: return an object or a list of entries'],
    ['a set', new Set([1]), 'the result is a Set: return a list'],
    ['an error', { failed: [new TypeError('x')] }, '"failed[0]" is a TypeError: throw it, or return its message'],
    ['a pattern', { like: /a/ }, '"like" is a RegExp: return its source'],
    ['a forgotten await', { later: Promise.resolve(1) }, '"later" is a promise: await it'],
    ['a number that JSON does not have', { rate: Number.NaN }, '"rate" is NaN, which JSON has no number for: return null or a text'],
    ['bytes', { data: new Uint8Array(2) }, '"data" is a Uint8Array: return a list of numbers, or a text such as its base64'],
    ['a response', new Response('x'), 'the result is a Response: return what you read from it, such as await response.json()'],
    ['a web stream', new ReadableStream(), 'the result is a ReadableStream: read it in the code, and return what it contains'],
    ['a stream of Node', Readable.from(['a']), 'the result is a stream (Readable): read it in the code, and return what it contains'],
    ['an iterator of a map', new Map().values(), 'the result is a value of class Map Iterator, of which JSON keeps nothing'],
    ['an object of a class without fields', { sum: new Money() }, '"sum" is a value of class Money, of which JSON keeps nothing'],
    ['several', { a: new Map(), b: 1n }, '"a" is a Map: return an object or a list of entries; "b" is a bigint'],
  ])('%s is an error result that names its path, and says that the tool has acted', async (_, returned, problem) => {
    const executed = await run(toolThat(() => returned));
    expect(executed.isError).toBe(true);
    expect(executed.content[0]).toContain(`Tool 'probe' has acted, but its result cannot be recorded: ${problem}`);
    expect(executed.content[0]).toContain('Calling it again would not help.');
    expect(executed).not.toHaveProperty('thrown');
  });
});

describe('an iterator that a tool returns is run to its end', () => {
  async function* paying(): AsyncGenerator<{ status: string }> {
    yield { status: 'paying' };
    await Promise.resolve();
    yield { status: 'paid' };
  }

  test.each([
    ['the last value that an async generator yields', paying, { status: 'paid' }],
    ['a promise of an async generator', async (): Promise<unknown> => Promise.resolve(paying()), { status: 'paid' }],
    [
      'the value that a generator returns',
      function* count(): Generator<number, string> {
        yield 1;
        return 'done';
      },
      'done',
    ],
    [
      'the last value of a generator',
      function* count(): Generator<unknown> {
        yield 1;
        yield Promise.resolve(2);
      },
      2,
    ],
    ['an object that can be iterated', (): unknown => ({ [Symbol.asyncIterator]: paying }), { status: 'paid' }],
  ])('%s is the result', async (_, execute, result) => {
    expect(await run(toolThat(execute))).toMatchObject({ content: [result], isError: false });
  });

  test('without a value, there is no result', async () => {
    expect(await run(toolThat(async function* none(): AsyncGenerator<never> {}))).toMatchObject({ content: [], isError: false });
  });

  test('readers get what it yields at once, and a value that they cannot get does not fail the call', async () => {
    const emitted: unknown[] = [];
    const emit = (name: string, data: unknown): void => {
      if (data === 'too large') throw new TypeError('emit: over 32000');
      emitted.push([name, data]);
    };
    const tool = toolThat(function* steps(): Generator<unknown> {
      yield 'one';
      expect(emitted).toEqual([['preliminary', 'one']]);
      yield 'too large';
      yield toolOutput('two');
    });
    const executed = await executeTool({ tool, args: {}, context: fakeContext({ emit }) });
    expect(executed).toMatchObject({ content: ['two'], isError: false });
    expect(emitted).toEqual([['preliminary', 'one']]);
  });

  test('its result is checked like any other, and what it throws is an error result', async () => {
    const result = z.object({ status: z.literal('paid') });
    expect(await run(toolThat(paying, { result }))).toMatchObject({ content: [{ status: 'paid' }], isError: false });
    const fails = toolThat(async function* fail(): AsyncGenerator<string> {
      yield 'begun';
      throw new Error('boom');
    });
    expect(await run(fails)).toMatchObject({ content: ['boom'], isError: true, thrown: {} });
  });

  test('an aborted call ends it at the next value, and lets it clean up', async () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const tool = toolThat(async function* endless(): AsyncGenerator<number> {
      try {
        for (let n = 0; ; n += 1) {
          seen.push(`${n}`);
          if (n === 1) controller.abort(new Error('cancelled'));
          yield n;
        }
      } finally {
        seen.push('closed');
      }
    });
    await expect(executeTool({ tool, args: {}, context: contextOf(controller.signal) })).rejects.toThrow('cancelled');
    expect(seen).toEqual(['0', '1', 'closed']);
  });
});

test('a result that is nested too deep is an error result and is not retried, whatever its schema', async () => {
  interface Lists extends Array<Lists> {}
  const lists: z.ZodType<Lists> = z.lazy(() => z.array(lists));
  const deep: unknown = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`);
  for (const more of [{}, { result: lists }]) {
    const executed = await run(toolThat(() => deep, more));
    expect(executed).toMatchObject({ isError: true, content: [expect.stringContaining('nested deeper than 64 levels')] });
    expect(executed).not.toHaveProperty('thrown');
  }
});

test('a failure that the tool returns is an error result', async () => {
  expect(await run(toolThat(() => toolOutput('soft failure', { isError: true })))).toMatchObject({
    content: ['soft failure'],
    isError: true,
  });
});

test('an error that a tool throws is an error result with its message alone', async () => {
  const boom = (reason: unknown): AnyTool =>
    toolThat(() => {
      throw reason;
    });
  expect(await run(boom(new Error('boom')))).toMatchObject({ content: ['boom'], isError: true });
  expect(await run(boom('boom'))).toMatchObject({ content: ['boom'], isError: true });
  expect(await run(boom(new Error('')))).toMatchObject({ content: ["Tool 'probe' failed without a message"], isError: true });
  expect(await run(toolThat(async () => Promise.reject(new Error('later'))))).toMatchObject({ content: ['later'], isError: true });
});

test('arguments are parsed by the zod schema, with its defaults and checks, before the tool runs', async () => {
  let executed = 0;
  const tool = defineTool({
    name: 'probe',
    description: 'Probes.',
    parameters: z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even'), unit: z.string().default('h') }),
    execute: ({ n, unit }) => {
      executed += 1;
      return `${n}${unit}`;
    },
  });
  expect(await run(tool, { n: 2 })).toMatchObject({ content: ['2h'], isError: false });
  const refused = await run(tool, { n: 3 });
  expect(refused.isError).toBe(true);
  expect(refused.content[0]).toMatch(/^Invalid arguments for 'probe': .*must be even[^]*at n/);
  expect(executed).toBe(1);
});

test('the result schema is applied to the return value', async () => {
  const result = z.object({ n: z.number() });
  expect(await run(toolThat(() => ({ n: 1, secret: 'x' }), { result }))).toMatchObject({ content: [{ n: 1 }], isError: false });
  const refused = await run(toolThat(() => ({ n: 'one' }), { result }));
  expect(refused.isError).toBe(true);
  expect(refused.content[0]).toContain("Tool 'probe' has acted, but its result cannot be recorded: it does not fit the result schema");
});

test('a tool sees its context', async () => {
  const tool = defineTool({
    name: 'probe',
    description: 'Probes.',
    parameters: z.object({}),
    execute: (_, { deps, idempotencyKey }) => `${String(deps['userId'])} ${idempotencyKey}`,
  });
  expect(await run(tool)).toMatchObject({ content: ['u1 run-1/e1/0'] });
});

test('a tool that fails because it was aborted rejects with the reason of the abort', async () => {
  const controller = new AbortController();
  const reason = new Error('The run was cancelled');
  const tool = toolThat(() => {
    controller.abort(reason);
    throw new Error('socket closed');
  });
  await expect(executeTool({ tool, args: {}, context: contextOf(controller.signal) })).rejects.toBe(reason);
});
