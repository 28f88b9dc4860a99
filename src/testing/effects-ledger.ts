import { AssertionError } from 'node:assert';

/** One act on the outside world, as a tool or its fake has reported it. */
export interface Effect {
  /** Of the call that acted: the same for every attempt of it. */
  idempotencyKey: string;
  /** What was done, in the words of the test: `refund 42`. */
  what: string;
}

/** What has been done to the outside world in a test: whether nothing was done twice. */
export interface EffectsLedger {
  /** Every act, in its order, repeated ones included. */
  readonly acts: readonly Effect[];
  /** The acts as a service sees them that knows their keys: each key once. */
  readonly effects: readonly Effect[];
  /** Records an act. False where this key has acted before: a service that knows its keys would do nothing now. */
  act: (idempotencyKey: string, what: string) => boolean;
  /** Throws an AssertionError unless `what` was done exactly once: by one key. Without `what`, unless everything was. */
  assertOnce: (what?: string) => void;
  /** Throws an AssertionError where a key has acted again: for tools whose effect happens once. */
  assertNotRepeated: (what?: string) => void;
  /** Throws an AssertionError unless exactly this was done, in any order, each by a key of its own. */
  assertEffects: (expected: readonly string[]) => void;
}

/**
 * A ledger for tools to write down what they do to the outside world, under their idempotency key.
 *
 * @example
 * const ledger = effectsLedger();
 * const payments = { refund: (key: string, order: number) => ledger.act(key, `refund ${order}`) };
 */
export function effectsLedger(): EffectsLedger {
  const acts: Effect[] = [];
  const known = (idempotencyKey: string): Effect[] => acts.filter((one) => one.idempotencyKey === idempotencyKey);
  const effects = (): Effect[] => acts.filter((one) => known(one.idempotencyKey)[0] === one);
  const fail = (message: string): never => {
    throw new AssertionError({ message: `${message}. The ledger: ${listed(acts)}`, stackStartFn: fail });
  };
  return {
    acts,
    get effects() {
      return effects();
    },
    act: (idempotencyKey, what) => acts.push({ idempotencyKey, what }) > 0 && known(idempotencyKey).length === 1,
    assertOnce: (what) => {
      for (const one of what === undefined ? new Set(acts.map((act) => act.what)) : [what]) {
        const count = effects().filter((effect) => effect.what === one).length;
        if (count !== 1) fail(`"${one}" was done ${times(count)}, not once`);
      }
    },
    assertNotRepeated: (what) => {
      for (const effect of effects()) {
        const count = known(effect.idempotencyKey).length;
        if (count > 1 && (what ?? effect.what) === effect.what) fail(`"${effect.what}" was done ${times(count)} under one key`);
      }
    },
    assertEffects: (expected) => {
      const [done, wanted] = [
        effects()
          .map(({ what }) => what)
          .toSorted(),
        expected.toSorted(),
      ];
      if (JSON.stringify(done) !== JSON.stringify(wanted)) fail(`What was done is [${done.join(', ')}], not [${wanted.join(', ')}]`);
    },
  };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function listed(acts: readonly Effect[]): string {
  return acts.length === 0 ? 'nothing' : acts.map(({ idempotencyKey, what }) => `${what} (${idempotencyKey})`).join(', ');
}
