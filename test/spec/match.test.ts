import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { match } from './match.ts';

function fits(expected: JsonValue, actual: unknown): boolean {
  return match(expected, actual).length === 0;
}

describe('an expected object', () => {
  it('matches partially, at any depth', () => {
    expect(fits({ a: 1 }, { a: 1, b: 2 })).toBe(true);
    expect(fits({ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 })).toBe(true);
    expect(fits({}, { a: 1 })).toBe(true);
  });

  it('needs every key it lists, and null is not the same as a missing value', () => {
    expect(fits({ a: null }, { a: null })).toBe(true);
    expect(fits({ a: null }, {})).toBe(false);
    expect(fits({ a: 1 }, [])).toBe(false);
    expect(fits({ toString: 'x' }, {})).toBe(false);
  });

  it.each(['deps', 'messages', 'events', 'feedback', 'contexts', 'prompts', 'attempts', 'results'])('matches "%s" exactly', (key) => {
    expect(fits({ [key]: [{ a: 1 }] }, { [key]: [{ a: 1 }, { a: 2 }] })).toBe(false);
    expect(fits({ [key]: { a: 1 } }, { [key]: { a: 1, b: 2 } })).toBe(false);
    expect(fits({ [key]: {} }, { [key]: {} })).toBe(true);
  });

  it('matches partially again inside the elements of those', () => {
    expect(fits({ messages: [{ role: 'user' }] }, { messages: [{ role: 'user', content: 'x' }] })).toBe(true);
    expect(fits({ deps: { user: { id: 1 } } }, { deps: { user: { id: 1, name: 'x' } } })).toBe(true);
  });

  it('is not compared if it is only informative', () => {
    expect(fits({ ok: false, error_upstream: 'KeyError', messages_upstream: [] }, { ok: false })).toBe(true);
  });
});

describe('an expected list', () => {
  it('has the same length and order, at any depth', () => {
    expect(fits([1, 2], [1, 2])).toBe(true);
    expect(fits([1, 2], [2, 1])).toBe(false);
    expect(fits({ steps: [] }, { steps: [1] })).toBe(false);
    expect(fits([1], { 0: 1, length: 1 })).toBe(false);
  });
});

describe('a list with a tail in any order', () => {
  const messages = ['u', 'c1', 'c2', 'c3'].map((id) => ({ id }));
  const fitsInAnyOrder = (...ids: string[]): boolean =>
    fits({ messages, $unordered_tail: 3 }, { messages: ids.map((id) => ({ id, more: true })) });

  it('matches with its last elements in any order', () => {
    expect(fitsInAnyOrder('u', 'c1', 'c2', 'c3')).toBe(true);
    expect(fitsInAnyOrder('u', 'c3', 'c1', 'c2')).toBe(true);
  });

  it('needs every element once, and the others in their positions', () => {
    expect(fitsInAnyOrder('c1', 'u', 'c2', 'c3')).toBe(false);
    expect(fitsInAnyOrder('u', 'c1', 'c1', 'c2')).toBe(false);
    expect(fitsInAnyOrder('u', 'c1', 'c2')).toBe(false);
    expect(fitsInAnyOrder('u', 'c1', 'c2', 'c3', 'c4')).toBe(false);
  });
});

describe('a tail whose elements match each other', () => {
  const fitsTail = (expected: JsonValue[], actual: unknown[], tail = expected.length): boolean =>
    fits({ list: expected, $unordered_tail: tail }, { list: actual });

  it('matches if there is an order where all elements do', () => {
    expect(fitsTail([{ a: 1 }, { a: 1, b: 2 }], [{ a: 1, b: 2 }, { a: 1 }])).toBe(true);
    expect(
      fitsTail(
        [
          { a: 1, b: 2 },
          { a: 1, b: 2 },
        ],
        [{ a: 1, b: 2 }, { a: 1 }],
      ),
    ).toBe(false);
    expect(fitsTail([{ $generated: true }, 'x'], ['x', 'id-1'])).toBe(true);
    expect(fitsTail([{ $generated: true }, { $generated: true }], ['x', 'x'])).toBe(false);
  });

  it('of no elements keeps the order of all elements exact', () => {
    expect(fitsTail([1, 2], [1, 2], 0)).toBe(true);
    expect(fitsTail([1, 2], [2, 1], 0)).toBe(false);
  });

  it('is an error if it is longer than the list, is not a number, or is not next to a list', () => {
    expect(() => fitsTail([1], [1], 2)).toThrow('"$unordered_tail" is 2');
    expect(() => fits({ list: [1], $unordered_tail: true }, { list: [1] })).toThrow('"$unordered_tail" is true');
    expect(() => fits({ list: 1, $unordered_tail: 1 }, { list: 1 })).toThrow('"$unordered_tail" is 1');
  });
});

describe('an expected number of messages or tools', () => {
  it('is the length of the list', () => {
    expect(fits({ messages: 2, tools: 0 }, { messages: ['a', 'b'], tools: [] })).toBe(true);
    expect(fits({ calls: [{ messages: 1 }] }, { calls: [{ messages: [{ role: 'user' }] }] })).toBe(true);
    expect(match({ messages: 2 }, { messages: ['a'] })).toEqual([{ path: 'messages.length', expected: 2, actual: 1 }]);
    expect(fits({ tools: 1 }, { tools: null })).toBe(false);
    expect(fits({ tools: 1 }, {})).toBe(false);
  });

  it('is a number like any other elsewhere', () => {
    expect(fits({ messages: 2 }, { messages: 2 })).toBe(true);
    expect(fits({ steps: 2 }, { steps: ['a', 'b'] })).toBe(false);
  });
});

describe('numbers and texts', () => {
  it('compare by value and exactly', () => {
    expect(fits(1, 1.0)).toBe(true);
    expect(fits(0, -0)).toBe(true);
    expect(fits(1, '1')).toBe(false);
    expect(fits('a', 'a ')).toBe(false);
    expect(fits(true, 1)).toBe(false);
  });
});

describe('a matcher', () => {
  it.each<[JsonValue, unknown, boolean]>([
    [{ $contains: 'down' }, 'api down', true],
    [{ $contains: 'up' }, 'api down', false],
    [{ $contains: 'x' }, ['x'], false],
    [{ $any: 'string' }, '', true],
    [{ $any: 'number' }, 0, true],
    [{ $any: 'number' }, '0', false],
    [{ $any: 'number' }, null, false],
    [{ $uuid: true }, '4dc1b5a0-93b3-4b3e-8b4f-0a2f6d5c7e11', true],
    [{ $uuid: true }, 'run-1', false],
    [{ $iso8601: true }, '2026-01-31T10:00:00.123Z', true],
    [{ $iso8601: true }, '2026-01-31T10:00:00+02:00', true],
    [{ $iso8601: true }, '2026-13-31T10:00:00Z', false],
    [{ $iso8601: true }, '31 January 2026', false],
    [{ $same_instant: '2026-01-31T10:00:00Z' }, '2026-01-31T12:00:00+02:00', true],
    [{ $same_instant: '2026-01-31T10:00:00' }, '2026-01-31T10:00:00.000Z', true],
    [{ $same_instant: '2026-01-31T10:00:00Z' }, '2026-01-31T10:00:01Z', false],
    [{ $same_instant: '2026-01-31T10:00:00Z' }, undefined, false],
    [{ $same_instant: 'no time' }, 'no time', false],
    [{ $not: 'x' }, 'y', true],
    [{ $not: { a: 1 } }, { a: 1, b: 2 }, false],
    [{ $not: null }, undefined, true],
    [{ $range: [2, 4] }, [2, 3, 4], true],
    [{ $range: [2, 4] }, [2, 4], false],
    [{ $range: [1, 1] }, [1], true],
    [{ $regex: '^a+b' }, 'aab!', true],
    [{ $regex: '^b' }, 'ab', false],
    [{ $regex: '1' }, 1, false],
  ])('%j against %j is %s', (expected, actual, result) => {
    expect(fits(expected, actual)).toBe(result);
  });

  it('of a generated text requires it to be non-empty and new', () => {
    const memory = { generated: new Set<string>() };
    expect(match({ $generated: true }, 'id-1', memory)).toEqual([]);
    expect(match({ $generated: true }, 'id-2', memory)).toEqual([]);
    expect(match({ $generated: true }, 'id-1', memory)).toHaveLength(1);
    expect(match({ $generated: true }, '', memory)).toHaveLength(1);
  });

  it('is an object with a single key: others are plain objects', () => {
    expect(fits({ $contains: 'a', b: 1 }, { $contains: 'a', b: 1 })).toBe(true);
    expect(fits({ a: { $any: 'number' } }, { a: 3 })).toBe(true);
  });

  it('that is unknown is an error, not a pass', () => {
    expect(() => match({ $sometimes: true }, 1)).toThrow('"$sometimes"');
  });
});

describe('a mismatch', () => {
  it('has the path, the expected value and the actual value', () => {
    expect(match({ steps: [{ result: 'x' }, { result: 'y' }] }, { steps: [{ result: 'x' }, {}] })).toEqual([
      { path: 'steps[1].result', expected: 'y', actual: undefined },
    ]);
    expect(match('a', 'b')).toEqual([{ path: '', expected: 'a', actual: 'b' }]);
  });
});
