import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { readSavedContext, toSavedContext } from '../../../src/core/saved/saved-context.ts';
import { anyContext, anyJson } from './arbitrary-contexts.ts';

describe('a document', () => {
  it('is read as the context that was saved, also as text (property)', () => {
    fc.assert(
      fc.property(anyContext, (context) => {
        const saved = toSavedContext(context);
        expect(saved).toEqual(context);
        expect(readSavedContext(saved)).toEqual({ ok: true, context, warnings: [] });
        expect(readSavedContext(JSON.parse(JSON.stringify(saved)))).toEqual({ ok: true, context, warnings: [] });
      }),
    );
  });

  it('warns of unknown fields and roles with their places, and ignores or replaces them', () => {
    const read = readSavedContext({
      version: 1,
      later: 1,
      usage: { requests: 1, cost: 2 },
      messages: [{ role: 'developer', content: 'x', 'a b': 1 }],
      started_at: '2026-01-02T03:04:05',
    });
    expect(read).toMatchObject({
      ok: true,
      context: { messages: [{ role: 'user', content: 'x' }], usage: { requests: 1 }, started_at: null },
      warnings: [
        'later is unknown, and ignored',
        'messages[0]["a b"] is unknown, and ignored',
        'messages[0].role is "developer", which is unknown: the message is read as one of the user',
        'usage.cost is unknown, and ignored',
        'started_at is "2026-01-02T03:04:05", which is no ISO 8601 time with an offset: it is ignored',
      ],
    });
  });

  it('lists at most 20 warnings and 20 problems', () => {
    const many = Array.from({ length: 100 }, () => ({ role: 'function', content: 'x' }));
    const read = readSavedContext({ version: 1, messages: many });
    expect(read.ok && read.warnings.slice(19)).toEqual([expect.stringContaining('messages[19]'), 'and 80 more']);
    const refused = readSavedContext({ version: 1, messages: many.map((one) => ({ ...one, content: null })) });
    expect(!refused.ok && refused.problem).toMatch(/; and 80 more problems$/);
  });
});

/** A list in a list, and so on. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

const cycle: Record<string, unknown> = { version: 1 };
cycle['deps'] = { cycle };

const throwing = {
  version: 1,
  get messages(): unknown {
    throw new Error('no messages here');
  },
};

describe('a value that is not a document is refused with a message, and nothing is thrown', () => {
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /^missing or invalid version field$/],
    ['a function', () => 1, /^missing or invalid version field$/],
    ['a version in the prototype', Object.create({ version: 1 }), /^missing or invalid version field$/],
    ['a cycle', cycle, /^the document is nested deeper than 128 levels$/],
    ['a list of a million levels', { version: 1, deps: { a: nested(1_000_000) } }, /^the document is nested deeper than 128 levels$/],
    ['a getter that throws', throwing, /^the document is not JSON: no messages here$/],
    ['a bigint', { version: 1, deps: { a: 1n } }, /^the document is not JSON: /],
    ['a proxy that throws', new Proxy({}, { ownKeys: () => raise('closed') }), /^the document is not JSON: closed$/],
    ['many messages of the wrong kind', { version: 1, messages: Array.from({ length: 50_000 }, () => 5) }, /messages/],
  ])('%s', (_, value, problem) => {
    expect(readSavedContext(value)).toEqual({ ok: false, problem: expect.stringMatching(problem) as string });
  });

  test('or any other value (property)', () => {
    const documents = fc.oneof(
      anyJson,
      fc
        .dictionary(fc.constantFrom('messages', 'deps', 'usage', 'started_at', 'tool_calls', 'iteration', '__proto__'), anyJson)
        .map((fields) => ({ version: 1, ...fields })),
      fc.tuple(anyContext, anyJson).map(([context, junk]) => ({ ...context, messages: [...context.messages, junk] })),
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true, withSparseArray: true }),
    );
    fc.assert(
      fc.property(documents, (value) => {
        const read = readSavedContext(value);
        const again = read.ok ? readSavedContext(read.context) : read;
        expect(again).toEqual(read.ok ? { ...read, warnings: [] } : read);
        expect(read).not.toHaveProperty('problem', '');
      }),
      { numRuns: 500 },
    );
  });

  test('a long conversation is read', () => {
    const messages = Array.from({ length: 20_000 }, (_, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: `m${index}` }));
    const read = readSavedContext({ version: 1, messages });
    expect(read.ok && read.context.messages.length).toBe(20_000);
  });
});

function raise(message: string): never {
  throw new Error(message);
}
