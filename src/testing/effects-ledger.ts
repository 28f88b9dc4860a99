import { AssertionError } from 'node:assert';

/** One effect on an outside system, as a tool or its fake recorded it. */
export interface Effect {
  /** The idempotency key of the call, which is the same for all its attempts. */
  idempotencyKey: string;
  /** A description of the effect by the test: `refund 42`. */
  what: string;
}

/** The effects of a test on outside systems, with checks that none was repeated. */
export interface EffectsLedger {
  /** Every recorded effect in order, including repeated ones. */
  readonly acts: readonly Effect[];
  /** The effects on a service that recognises idempotency keys: each key once. */
  readonly effects: readonly Effect[];
  /**
   * Records an effect. Returns false if this key has been recorded before: a service that recognises keys would do
   * nothing.
   */
  act: (idempotencyKey: string, what: string) => boolean;
  /** Throws an AssertionError unless `what` was done exactly once, by one key. Without `what`, checks every effect. */
  assertOnce: (what?: string) => void;
  /** Throws an AssertionError if a key was recorded twice: for tools with `once` effects. */
  assertNotRepeated: (what?: string) => void;
  /** Throws an AssertionError unless exactly these effects were recorded, in any order, each by its own key. */
  assertEffects: (expected: readonly string[]) => void;
}

/**
 * Creates a ledger in which tools record their effects on outside systems, each with its idempotency key.
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
      if (JSON.stringify(done) !== JSON.stringify(wanted)) fail(`The effects are [${done.join(', ')}], not [${wanted.join(', ')}]`);
    },
  };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function listed(acts: readonly Effect[]): string {
  return acts.length === 0 ? 'nothing' : acts.map(({ idempotencyKey, what }) => `${what} (${idempotencyKey})`).join(', ');
}
