import { describe, expect, it } from 'vitest';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { fittingUnits, type UnitResult } from '../../../src/core/domain/program-run.ts';

function unit(index: number, output: string, steps = 3): UnitResult {
  return {
    name: `unit-${index}`,
    status: 'completed',
    steps: Array.from({ length: steps }, (_, step) => ({
      name: `S${step}`,
      kind: 'ask',
      status: step === 0 ? 'failed' : 'completed',
      output,
      attempts: 1,
    })),
  };
}

describe('the units of a closing event', () => {
  it('do not change if they fit', () => {
    expect(fittingUnits([unit(1, 'short')], 1_000)).toEqual({ units: [unit(1, 'short')] });
  });

  it('lose large outputs first, and say so', () => {
    const { units, unitsCut } = fittingUnits([unit(1, 'x'.repeat(3_000)), unit(2, 'short')], 2_000);
    expect(unitsCut).toBeUndefined();
    expect(units.map(({ steps }) => steps.map(({ output, outputCut }) => [output, outputCut]))).toEqual([
      [
        [undefined, true],
        [undefined, true],
        [undefined, true],
      ],
      [
        ['short', undefined],
        ['short', undefined],
        ['short', undefined],
      ],
    ]);
  });

  it('keep failed steps longer than others', () => {
    const { units } = fittingUnits([unit(1, 'o', 200)], 1_000);
    expect(units).toMatchObject([{ stepsCut: true, steps: [{ name: 'S0', status: 'failed' }] }]);
  });

  it.each([1, 10, 1_000, 5_000])('never exceed the bytes, for %i units', (count) => {
    const fitting = fittingUnits(
      Array.from({ length: count }, (_, index) => unit(index, 'output', 5)),
      12_000,
    );
    expect(jsonBytes(fitting.units)).toBeLessThanOrEqual(12_000);
    expect(fitting.unitsCut ?? false).toBe(fitting.units.length < count);
  });
});
