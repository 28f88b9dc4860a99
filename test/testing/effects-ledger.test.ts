import { describe, expect, test } from 'vitest';
import { effectsLedger } from '../../src/testing/index.ts';

describe('a ledger of effects', () => {
  test('recognizes an act by its key, and returns if it is new', () => {
    const ledger = effectsLedger();
    expect([ledger.act('k1', 'refund 42'), ledger.act('k2', 'mail'), ledger.act('k1', 'refund 42')]).toEqual([true, true, false]);
    expect(ledger.acts.map(({ what }) => what)).toEqual(['refund 42', 'mail', 'refund 42']);
    expect(ledger.effects.map(({ what }) => what)).toEqual(['refund 42', 'mail']);
  });

  test('accepts that an effect happened once, however often its key has acted', () => {
    const ledger = effectsLedger();
    ledger.act('k1', 'refund 42');
    ledger.act('k1', 'refund 42');
    ledger.assertOnce('refund 42');
    ledger.assertOnce();
    expect(() => ledger.assertOnce('refund 43')).toThrow(
      '"refund 43" was done 0 times, not once. The ledger: refund 42 (k1), refund 42 (k1)',
    );
    ledger.act('k2', 'refund 42');
    expect(() => ledger.assertOnce()).toThrow('"refund 42" was done 2 times, not once');
  });

  test('checks that no key has acted again', () => {
    const ledger = effectsLedger();
    ledger.act('k1', 'refund 42');
    ledger.act('k2', 'refund 42');
    ledger.assertNotRepeated();
    ledger.act('k2', 'refund 42');
    expect(() => ledger.assertNotRepeated()).toThrow('"refund 42" was done 2 times under one key');
    expect(() => ledger.assertNotRepeated('refund 42')).toThrow('under one key');
    ledger.assertNotRepeated('something else');
  });

  test('checks the exact list of effects, in any order', () => {
    const ledger = effectsLedger();
    ledger.assertEffects([]);
    ledger.act('k1', 'b');
    ledger.act('k2', 'a');
    ledger.assertEffects(['a', 'b']);
    expect(() => ledger.assertEffects(['a'])).toThrow('The effects are [a, b], not [a]');
  });
});
