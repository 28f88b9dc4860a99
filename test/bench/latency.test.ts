import { describe, expect, it } from 'vitest';
import { roundFigures } from '../../bench/latency.ts';
import { mean, median, percentile } from '../../bench/figures/statistics.ts';

describe('percentiles', () => {
  it('are values of the sample, in any order of it', () => {
    const values = [5, 1, 4, 2, 3];
    expect([percentile(values, 0), median(values), percentile(values, 95), percentile(values, 100)]).toEqual([1, 3, 5, 5]);
    expect(median([1, 2, 3, 4])).toBe(2);
    expect(values).toEqual([5, 1, 4, 2, 3]);
  });

  it('of an empty sample are an error, and so is its mean', () => {
    expect(() => median([])).toThrow(RangeError);
    expect(() => mean([])).toThrow(RangeError);
  });
});

describe('the figures of a round', () => {
  it('take the mean from the duration of the runs and the rest from the start times of their calls', () => {
    // Two runs of two steps. Model calls take 4 ms and then 8 ms, tool calls 2 ms and then 4 ms.
    const run = { ms: 50, gaps: [4, 2, 8, 4] };
    expect(roundFigures([run, run], 80)).toEqual({
      msPerCallMean: 10,
      msPerCallP50: 4,
      msPerCallP95: 8,
      msPerCallFirst20: 3,
      msPerCallLast20: 3,
      callsPerSecond: 125,
      msModelCallP50: 4,
      msToolCallP50: 2,
      msPerStepP50: 6,
    });
  });

  it('include the time after the calls of a local tool, if it was measured', () => {
    const afterCalls = { toNextCommand: [3, 1, 2], toNextCall: [4] };
    expect(roundFigures([{ ms: 50, gaps: [4, 2, 8, 4], afterCalls }], 80)).toMatchObject({ msToNextCommandP50: 2, msToNextCallP50: 4 });
  });

  it('show that a run gets slower', () => {
    const gaps = [...Array.from({ length: 40 }, () => 5), ...Array.from({ length: 20 }, () => 7), ...Array.from({ length: 40 }, () => 9)];
    expect(roundFigures([{ ms: 1_000, gaps }], 1_000)).toMatchObject({ msPerCallFirst20: 5, msPerCallLast20: 9 });
  });
});
