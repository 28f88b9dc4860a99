import type { Effect } from '../processes/ledger.ts';
import type { UnclearCalls } from './expectation.ts';
import { EFFECTS, effectOf, ONCE } from '../reference/reference-script.ts';

/**
 * The problems with the effects of a run: each effect must have happened once, and a call with effect `once` must have acted
 * once.
 */
export function effectProblems(effects: readonly Effect[], unclear: UnclearCalls): string[] {
  const once = new Map(Object.entries(ONCE).map(([callId, { tool }]) => [effectOf(tool, callId), unclear.get(callId)]));
  const problems = EFFECTS.flatMap((effect) => {
    const own = effects.filter((one) => one.effect === effect);
    const keys = own.length;
    const acts = own.reduce((sum, one) => sum + one.acts, 0);
    if (keys > 1) return [`"${effect}" was done with ${keys} idempotency keys: ${own.map(({ key }) => key).join(', ')}`];
    if (once.has(effect) && acts > 1) return [`"${effect}" happens once, and was done ${acts} times`];
    switch (once.get(effect)) {
      case 'unknown':
        return [];
      case 'not happened':
        return keys === 0 ? [] : [`"${effect}" was done, and the model was told that it was not`];
      case undefined:
        return keys === 1 ? [] : [`"${effect}" was not done`];
    }
  });
  const strangers = effects.filter(({ effect }) => !EFFECTS.includes(effect));
  return [...problems, ...strangers.map(({ effect }) => `"${effect}" was done without a call`)];
}
