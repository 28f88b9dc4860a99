import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isJsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';

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
