import { describe, expect, test } from 'vitest';
import { conditionHolds, isReferenceName, readReference, referencesIn, valueAt } from '../../../../src/core/program/references.ts';

describe('a reference', () => {
  test.each([
    ['Kind', ['Kind']],
    ['sort.Kind.kind', ['sort', 'Kind', 'kind']],
    [' {{ unit.Step.output.path[0] }} ', ['unit', 'Step', 'output', 'path', 0]],
    ['Find documents[12].first-name', ['Find documents', 12, 'first-name']],
    ['a["b.c"]["\\"{}"]', ['a', 'b.c', '"{}']],
    ['document.Ünïcode', ['document', 'Ünïcode']],
  ])('is read: %s', (text, path) => {
    expect(readReference(text)?.path).toEqual(path);
  });

  test.each(['', ' ', '[0]', 'a.', 'a. b', '{{a}} b', '{{a}}{{b}}', 'a{{b}}', 'a["b', `a["\\x"]`, `a[1234567890]`, 'x'.repeat(501)])(
    'is not read from %j',
    (text) => {
      expect(readReference(text)).toBeUndefined();
    },
  );

  test('may have any name without separators', () => {
    expect(['Kind', 'Find documents', 'a-b', 'ä', '#1'].map(isReferenceName)).toEqual([true, true, true, true, true]);
    expect(['', ' a', 'a ', 'a.b', 'a[0]', '{a', 'a}', 'a"b', 'a\nb'].filter(isReferenceName)).toEqual([]);
  });
});

test('a path into a text or a number leads to nothing, and into null to null', () => {
  expect(valueAt('text', ['length'])).toEqual({ found: false });
  expect(valueAt('text', [0])).toEqual({ found: false });
  expect(valueAt(1, ['toFixed'])).toEqual({ found: false });
  expect(valueAt({ a: null }, ['a', 'b', 0])).toEqual({ found: true, value: null });
});

test('the references of a document are listed with the path of their text', () => {
  const placed = referencesIn({ a: ['{{x}} {{y.z}}', 1], 'odd key': { b: '{{item[0]}}' } }, 'units[0].persona');
  expect(placed.map(({ reference, path }) => `${path}: ${reference.written}`)).toEqual([
    'units[0].persona.a[0]: {{x}}',
    'units[0].persona.a[0]: {{y.z}}',
    'units[0].persona["odd key"].b: {{item[0]}}',
  ]);
});

describe('a condition', () => {
  const kind = { score: 0.9, kind: 'refund' };

  function holds(of: string, is: object): boolean {
    return conditionHolds({ of, is: { ...is } }, ({ path: [step, ...rest] }) => (step === 'Kind' ? valueAt(kind, rest) : { found: false }));
  }

  test('holds if the value fits its schema', () => {
    expect(holds('Kind.score', { minimum: 0.8 })).toBe(true);
    expect(holds('{{Kind.kind}}', { const: 'refund' })).toBe(true);
    expect(holds('Kind.score', { minimum: 0.95 })).toBe(false);
  });

  test('does not hold if its reference leads to no value, or is not a reference', () => {
    expect(holds('Kind.other', {})).toBe(false);
    expect(holds('Other', {})).toBe(false);
    expect(holds('{{Kind', {})).toBe(false);
  });

  test('does not hold if its schema cannot be applied', () => {
    expect(holds('Kind', { $ref: '#/nowhere' })).toBe(false);
  });
});
