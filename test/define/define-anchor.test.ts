import { describe, expect, it } from 'vitest';
import { anchorInstruction } from '../../src/anchors/anchors.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { defineAnchor } from '../../src/define/define-anchor.ts';

const check = (): string[] => [];

describe('an anchor', () => {
  it('has its declared fields, and raises by default', () => {
    expect(defineAnchor({ name: 'Mine', check })).toEqual({ name: 'Mine', onViolation: 'raise', check });
    const options = {
      name: 'No-prices_2',
      require: 'a currency',
      reject: ['prices', 'discounts'],
      enforce: 'Never name a price.',
      confidenceFloor: 0.9,
      unknownResponse: 'Ask sales.',
      onViolation: 'warn',
      check,
    } as const;
    const anchor = defineAnchor(options);
    expect(anchor).toEqual(options);
    expect(anchorInstruction(anchor)).toBe(
      [
        '[CONSTRAINT: No-prices_2]',
        '  REQUIRE: a currency',
        '  REJECT: prices, discounts',
        '  ENFORCE: Never name a price.',
        '  CONFIDENCE FLOOR: 0.9',
        '  WHEN UNCERTAIN: "Ask sales."',
        '  ON VIOLATION: warn',
      ].join('\n'),
    );
  });

  it.each<[Record<string, unknown>, string]>([
    [{ name: undefined }, 'anchor without a name: use 1 to 64 letters'],
    [{ name: '' }, 'anchor "": use 1 to 64 letters'],
    [{ name: 'my anchor' }, 'anchor "my anchor": use 1 to 64 letters'],
    [{ name: 'NoBias' }, 'anchor "NoBias": this is the name of a built-in anchor'],
    [{ check: undefined }, 'anchor "Mine": "check" is missing'],
    [{ checks: check }, 'anchor "Mine" has an unknown option "checks"'],
    [{ onViolation: 'fail' }, 'anchor "Mine": "onViolation" is "fail": write "raise" or "warn"'],
    [{ require: ' ' }, 'anchor "Mine": "require" is " ": write a text'],
    [{ enforce: 3 }, 'anchor "Mine": "enforce" is 3: write a text'],
    [{ reject: 'prices' }, 'anchor "Mine": "reject" is "prices": write a list of texts'],
    [{ reject: ['a', ''] }, 'anchor "Mine": "reject[1]" is "": write a text'],
    [{ confidenceFloor: 80 }, 'anchor "Mine": "confidenceFloor" is 80: write a number from 0 to 1'],
    [{ unknownResponse: null }, 'anchor "Mine": "unknownResponse" is null: write a text'],
  ])('is refused with %j', (options, message) => {
    const define = (): unknown => defineAnchor({ name: 'Mine', check, ...options });
    expect(define).toThrow(UsageError);
    expect(define).toThrow(message);
  });
});
