import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryNamespace, memoryOwner, type MemoryOwner } from '../../src/memory/memory-store.ts';
import { fakeMemory } from '../fakes/fake-memory.ts';

/** Names with the characters by which namespaces could be confused. */
const name = fc.oneof(fc.constantFrom('', 'a', 'null', '"', '","', '[', ']', '\\', '\u0000', 'a","b'), fc.string({ unit: 'binary' }));
const owner = fc.record(
  {
    principal: fc.record({ tenant: name, user: name, claims: fc.constant({ admin: true }) }, { requiredKeys: [] }),
    agent: name,
    scope: name,
  },
  { requiredKeys: [] },
);

/** The parts of an owner that choose its memory. */
function partsOf({ principal = {}, agent, scope }: MemoryOwner): unknown[] {
  return [principal.tenant, principal.user, agent, scope];
}

test('two owners share a namespace only if all their parts are the same', () => {
  fc.assert(
    fc.property(owner, owner, (one, other) => {
      const isSame = partsOf(one).every((part, index) => Object.is(part, partsOf(other)[index]));
      expect(memoryNamespace(one) === memoryNamespace(other)).toBe(isSame);
    }),
    { numRuns: 500 },
  );
});

test('no owner reads, lists or removes what another has stored', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(owner, { minLength: 2, maxLength: 6, selector: (one) => JSON.stringify(partsOf(one).map((part) => [part])) }),
      async (owners) => {
        const memory = fakeMemory();
        for (const [index, one] of owners.entries())
          await memory.remember({ namespace: memoryNamespace(one), key: 'key', value: `value ${index}` });
        for (const [index, one] of owners.entries()) {
          const namespace = memoryNamespace(one);
          const values = (await memory.recall({ namespace, text: 'value' })).map(({ value }) => value);
          expect(values).toEqual([`value ${index}`]);
          expect((await memory.list({ namespace })).entries).toHaveLength(1);
        }
        expect(await memory.forget({ namespace: memoryNamespace(owners[0] ?? {}) })).toBe(1);
        expect((await memory.list({ namespace: memoryNamespace(owners[1] ?? {}) })).entries).toHaveLength(1);
      },
    ),
  );
});

test('the namespaces of a tenant and user, and no others, begin with the text of that owner', () => {
  fc.assert(
    fc.property(owner, owner, (one, other) => {
      const [{ principal = {} }, { principal: others = {} }] = [one, other];
      const isSame = principal.tenant === others.tenant && principal.user === others.user;
      expect(memoryNamespace(other).startsWith(memoryOwner(principal))).toBe(isSame);
    }),
    { numRuns: 500 },
  );
});

test('claims are no part of a namespace', () => {
  const of = (claims: { roles: string[] }): string => memoryNamespace({ principal: { user: 'ada', claims }, agent: 'clerk' });
  expect(of({ roles: ['admin'] })).toBe(of({ roles: [] }));
});
