import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { uniqueText } from '../../bench/script/unique-text.ts';

describe('unique text', () => {
  it('has the requested length, in printable ASCII', () => {
    for (const chars of [0, 1, 6, 7, 2_000]) expect(uniqueText(1, chars)).toHaveLength(chars);
    expect(uniqueText(1, 2_000)).toMatch(/^[A-Za-z ,.]+$/);
  });

  it('is the same for the same seed', () => {
    expect(uniqueText(7, 500)).toBe(uniqueText(7, 500));
    expect(uniqueText(7, 500)).not.toBe(uniqueText(8, 500));
  });

  it('compresses as well as prose', () => {
    const ratio = (chars: number): number => {
      const compressed = Array.from({ length: 20 }, (_, seed) => zstdCompressSync(uniqueText(seed, chars)).length);
      return compressed.reduce((sum, bytes) => sum + bytes, 0) / (20 * chars);
    };
    expect(ratio(2_000)).toBeGreaterThan(0.52);
    expect(ratio(2_000)).toBeLessThan(0.56);
    expect(ratio(20_000)).toBeGreaterThan(0.42);
    expect(ratio(20_000)).toBeLessThan(0.46);
  });

  it('repeats no 200 characters, in all texts of a run of 200 steps', () => {
    const whole = Array.from({ length: 200 }, (_, step) => uniqueText(1_001 + step, 2_000)).join('');
    // A repetition of 200 characters contains one of 40.
    const window = 40;
    const windows = new Set(Array.from({ length: whole.length - window + 1 }, (_, at) => whole.slice(at, at + window)));
    expect(windows.size).toBe(whole.length - window + 1);
  });
});
