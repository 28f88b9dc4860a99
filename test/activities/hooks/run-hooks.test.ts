import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CallableHook, type ReadAnswer, runHooks } from '../../../activities/hooks/hooks.ts';
import { HOOK_EVENTS, isBlocking } from '../../../src/core/domain/hooks.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';

const answer: fc.Arbitrary<ReadAnswer | 'throws'> = fc.oneof(
  fc.constant({ type: 'allow' as const }),
  fc.constant('throws' as const),
  fc.record({ type: fc.constant('deny' as const), text: fc.string() }),
  fc.record({ type: fc.constant('modify' as const), changes: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer()) }),
  fc.record({ type: fc.constantFrom('inject' as const, 'ask' as const, 'failed' as const), text: fc.string() }),
);
const hooks = fc.array(
  fc.record({
    answer,
    priority: fc.integer({ min: 0, max: 3 }),
    failClosed: fc.boolean(),
    match: fc.constantFrom(undefined, 'pay', 'read'),
  }),
  { maxLength: 6 },
);

/** One hook of a property. */
type Hook = (typeof hooks extends fc.Arbitrary<infer List> ? List : never)[number];

function callableOf({ answer: given, match, ...rest }: Hook, index: number, seen: [string, JsonObject][]): CallableHook {
  const name = `h${index}`;
  return {
    ...rest,
    name,
    ...(match === undefined ? {} : { match }),
    ask: (payload) => {
      seen.push([name, payload]);
      return given === 'throws' ? Promise.reject(new Error('broken')) : Promise.resolve(given);
    },
  };
}

test('hooks are called by priority until one denies; each sees the changes of those before, and only a deny that counts denies', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...HOOK_EVENTS), hooks, async (on, list) => {
      const seen: [string, JsonObject][] = [];
      const payload = { toolName: 'pay', a: 0 };
      const outcome = await runHooks(
        { on, payload },
        list.map((hook, index) => callableOf(hook, index, seen)),
      );
      const expected: string[] = [];
      let known: JsonObject = payload;
      let denied: string | undefined;
      const matching = list.map((hook, index) => ({ ...hook, name: `h${index}` })).filter(({ match }) => match !== 'read');
      for (const { name, answer: given, failClosed } of matching.toSorted((one, other) => one.priority - other.priority)) {
        expected.push(name);
        expect(seen[expected.length - 1]).toEqual([name, known]);
        if (given !== 'throws' && given.type === 'modify') known = { ...known, ...given.changes };
        const fails = given === 'throws' || given.type === 'failed';
        const denies = isBlocking(on) && (fails ? failClosed : given.type === 'deny');
        if (!denies) continue;
        denied = name;
        break;
      }
      expect(outcome.ran).toEqual(expected);
      expect(outcome.result).toMatchObject(denied === undefined ? { type: 'allow' } : { type: 'deny', hook: denied });
      expect({ ...payload, ...outcome.changes }).toEqual(known);
    }),
  );
});
