import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import {
  canonicalJson,
  depthProblem,
  inboundProblem,
  isJsonObject,
  isTooDeep,
  type JsonValue,
  MAX_JSON_DEPTH,
  readOrMark,
  unreadable,
} from '../../../src/core/domain/json.ts';

describe('canonical JSON', () => {
  it('does not depend on the order of keys, at any depth', () => {
    expect(canonicalJson({ b: 1, a: { d: [{ z: 1, y: 2 }], c: null } })).toBe('{"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}');
  });

  it('sorts by code units, not by the rules of a language', () => {
    expect(canonicalJson({ é: 1, z: 2, Z: 3, a: 4 })).toBe('{"Z":3,"a":4,"z":2,"é":1}');
  });

  it('keeps the order of lists', () => {
    expect(canonicalJson([3, 1, 2])).toBe('[3,1,2]');
  });

  it('parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as JsonValue;
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });
});

describe('a JSON object', () => {
  it('is neither null nor a list', () => {
    expect([{}, { a: 1 }, null, [], 'x', 1].map(isJsonObject)).toEqual([true, true, false, false, false, false]);
  });
});

/** This many nested lists. */
function nested(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

test('a value has at most 64 levels of lists and objects', () => {
  expect(MAX_JSON_DEPTH).toBe(64);
  expect(isTooDeep(nested(64))).toBe(false);
  expect(isTooDeep(nested(65))).toBe(true);
  expect(isTooDeep({ list: nested(63) })).toBe(false);
  expect(isTooDeep({ list: nested(64) })).toBe(true);
  expect(['text', 1, null, undefined, true].filter((value) => isTooDeep(value))).toEqual([]);
});

test('a million levels, and a value that contains itself, are found without recursion', () => {
  expect(isTooDeep(nested(900_000))).toBe(true);
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  expect(isTooDeep(cycle)).toBe(true);
});

test('a shared object is visited once per level, however many paths lead to it', () => {
  let reads = 0;
  let shared: object = {};
  for (let level = 1; level < 60; level += 1) {
    const inner = shared;
    shared = {
      get one() {
        reads += 1;
        return inner;
      },
      two: inner,
    };
  }
  expect(isTooDeep(shared)).toBe(false);
  expect(reads).toBeLessThan(60);
});

test('an object with a toJSON method is not visited', () => {
  expect(isTooDeep({ toJSON: () => 'short', deep: nested(100) })).toBe(false);
});

test('the problem names the member that is too deep', () => {
  expect(depthProblem({ id: 'a', content: nested(65) })).toContain('content: nested deeper than 64 levels');
  expect(depthProblem([1, nested(65)], 'list')).toContain('list[1]: nested deeper than 64 levels');
  expect(depthProblem({ id: 'a', content: nested(64) })).toBeUndefined();
});

describe('a value from outside the run', () => {
  /** This many nested lists, built without recursion. */
  function nestedValue(levels: number): unknown {
    let value: unknown = 'core';
    for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
    return value;
  }

  function read(one: Payload): unknown {
    return readOrMark(one, () => defaultPayloadConverter.fromPayload(one));
  }

  function payload(encoding: string | undefined, text: string): Payload {
    return { ...(encoding === undefined ? {} : { metadata: { encoding: Buffer.from(encoding) } }), data: Buffer.from(text) };
  }

  describe('a payload', () => {
    test('that can be read gives its value and no problem', () => {
      expect(read(payload('json/plain', '{"a":[1]}'))).toEqual({ a: [1] });
      expect(inboundProblem(read(payload('binary/null', '')))).toBeUndefined();
    });

    test.each([
      [payload('json/plain', '{"a":'), 'the data of the payload is not JSON'],
      [payload('json/plain', ''), 'the data of the payload is not JSON'],
      [payload('text/x', ''), 'the encoding "text/x" of the payload is unknown'],
      [payload(undefined, '{}'), 'the payload does not name its encoding'],
      [{ metadata: {}, data: Buffer.from('{}') }, 'the payload does not name its encoding'],
      [payload('unreadable: it was changed', ''), 'it was changed'],
    ])('that cannot be read gives a value with the reason, in the same words on every release of Node: %#', (one, why) => {
      expect(read(one)).toEqual(unreadable(why));
      expect(inboundProblem(read(one))).toBe(`it cannot be read: ${why}`);
    });

    test('cannot make a refusal long, neither by the name of its encoding nor by its contents', () => {
      expect(inboundProblem(read(payload('x'.repeat(1_000_000), '')))).toHaveLength(
        `it cannot be read: the encoding "" of the payload is unknown`.length + 100,
      );
      expect(inboundProblem(unreadable('y'.repeat(1_000_000)))).toHaveLength('it cannot be read: '.length + 1_000);
    });
  });

  describe('a value from outside', () => {
    test('may be nested to a depth that overflows nothing, and no deeper', () => {
      expect(inboundProblem(nestedValue(128))).toBeUndefined();
      expect(inboundProblem(nestedValue(129))).toContain('nested deeper than 64 levels');
      expect(inboundProblem(nestedValue(500_000))).toContain('nested deeper than 64 levels');
    });

    test('that claims to be unreadable is refused with any reason', () => {
      expect(inboundProblem({ 'longhaul:unreadable': nestedValue(500_000) })).toBe('it cannot be read: no reason is given');
    });
  });
});
