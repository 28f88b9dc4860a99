import { describe, expect, it } from 'vitest';
import { inTurn } from '../../bench/sides/side.ts';
import { parseOptions, type PeersOptions } from '../../bench/options.ts';
import { needsPlugins, phasesOf } from '../../bench/comparison/peer-phases.ts';

const optionsOf = (...args: string[]): PeersOptions => {
  const options = parseOptions(['peers', ...args]);
  if (options.command !== 'peers') throw new TypeError('Another command');
  return options;
};

describe('the set-ups of the comparison', () => {
  it('compress only Longhaul, and leave every other side unchanged', () => {
    const phases = phasesOf(optionsOf());
    expect(phases.filter(({ codec }) => codec === 'zstd').map(({ sides, resultChars }) => [sides, resultChars])).toEqual([
      [['longhaul'], 2_000],
      [['longhaul'], 20_000],
    ]);
    expect(needsPlugins(phases)).toBe(true);
  });

  it('need no plugin if none is named, and are left out if no side remains', () => {
    const phases = phasesOf(optionsOf('--sides', 'loop,value-loop'));
    expect(needsPlugins(phases)).toBe(false);
    expect(phases.map(({ name }) => name)).toEqual(['long results', 'short results', 'at once']);
  });

  it('begin each round with another side', () => {
    expect([1, 2, 3, 4].map((round) => inTurn(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
  });
});
