import { describe, expect, it, test } from 'vitest';
import { applyContextUpdate, type ContextUpdate, contextUpdate, UsageError } from '../../../src/index.ts';

interface Deps {
  notes?: string[];
  count: number;
  stats?: { total?: number; failed?: number };
  name?: string | null;
}

test('deps are those of a run after the call that returned the update', () => {
  const deps: Deps = { count: 1, notes: ['a'], stats: { failed: 0 } };
  const update = contextUpdate<Deps>().set('count', 2).append('notes', 'b').merge('stats', { total: 1 }).delete('name');
  const after: Deps = applyContextUpdate(deps, update);
  expect(after).toEqual({ count: 2, notes: ['a', 'b'], stats: { failed: 0, total: 1 } });
});

test('neither the deps nor the update change', () => {
  const deps = { notes: ['a'], stats: { total: 1 } };
  const update = contextUpdate().append('notes', 'b').merge('stats', { total: 2 });
  const before = structuredClone({ deps, operations: update.operations });
  expect(applyContextUpdate(deps, update)).toEqual({ notes: ['a', 'b'], stats: { total: 2 } });
  expect({ deps, operations: update.operations }).toEqual(before);
});

test.each<[string, object, ContextUpdate, object]>([
  ['nothing', { a: 1 }, contextUpdate(), { a: 1 }],
  ['an element to a missing list', {}, contextUpdate().append('l', 1), { l: [1] }],
  ['an element to null', { l: null }, contextUpdate().append('l', 1), { l: [1] }],
  ['a list as one element', { l: [1] }, contextUpdate().append('l', [2]), { l: [1, [2]] }],
  ['an object over a text', { o: 'x' }, contextUpdate().merge('o', { a: 1 }), { o: { a: 1 } }],
  ['null over a value inside of an object', { o: { a: 1 } }, contextUpdate().merge('o', { a: null }), { o: { a: null } }],
  ['a key that is not there', { a: 1 }, contextUpdate().delete('b'), { a: 1 }],
  ['each operation on the outcome of the one before', {}, contextUpdate().append('l', 1).set('l', [7]).append('l', 2), { l: [7, 2] }],
])('applies %s', (_, deps, update, expected) => {
  expect(applyContextUpdate(deps, update)).toEqual(expected);
});

describe('is refused with what to do', () => {
  test.each<[string, object, unknown, string]>([
    ['an element for a text', { notes: 'x' }, contextUpdate().append('notes', 1), 'deps.notes is a string: only a list can be appended to'],
    ['an element for an object', { n: { a: 1 } }, contextUpdate().append('n', 1), 'deps.n is an object: only a list can be appended to'],
    ['a function', {}, contextUpdate<Record<string, unknown>>().set('f', () => 1), 'deps.f is a function'],
    ['undefined', {}, { operations: [{ op: 'set', key: 'a' }] }, 'deps.a is undefined: write null, or delete the key'],
    ['an unknown operation', {}, { operations: [{ op: 'put', key: 'a', value: 1 }] }, 'there is no operation "put": write set, merge'],
    ['an empty key', {}, { operations: [{ op: 'set', key: '', value: 1 }] }, 'the key of "set" is "": write the name of a field'],
    ['no update', {}, undefined, 'it has no list of operations: write contextUpdate().set(key, value)'],
    ['deps that are not JSON', { db: new Map() }, contextUpdate(), 'deps.db'],
  ])('%s', (_, deps, update, problem) => {
    const apply = (): object => applyContextUpdate(deps, update as ContextUpdate);
    expect(apply).toThrow(UsageError);
    expect(apply).toThrow(`The update of the deps cannot be applied: ${problem}`);
  });

  it('as a whole', () => {
    const deps = { a: 1, notes: 'x' };
    expect(() => applyContextUpdate(deps, contextUpdate().set('a', 2).append('notes', 1))).toThrow(UsageError);
    expect(deps).toEqual({ a: 1, notes: 'x' });
  });
});
