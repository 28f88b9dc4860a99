import { describe, expect, it } from 'vitest';
import { endlessFigures, type EndlessRun } from '../../bench/endless/endless.ts';

const STEPS = 100;

/** A run with steps of 10 ms and a worker with 1,000 bytes, with changes. */
function ofRun(changes: Partial<EndlessRun> = {}): EndlessRun {
  return {
    steps: STEPS,
    executions: [{ events: 60, bytes: 600, summaries: 1 }],
    starts: startsOf(() => 10),
    samples: Array.from({ length: STEPS }, (_, index) => ({ step: index + 1, rss: 1_000, heap: 100, workflowHeap: 200, cpuMs: 4 * index })),
    exportGaps: 0,
    retries: 0,
    ...changes,
  };
}

/** The start times of the steps and the final answer, if each step takes so long. */
function startsOf(msOf: (step: number) => number): number[] {
  const starts = [5];
  for (let step = 0; step < STEPS; step += 1) starts.push((starts.at(-1) ?? 0) + msOf(step));
  return starts;
}

describe('the figures of a run without end', () => {
  it('begin with the names that later work relies on', () => {
    expect(Object.keys(endlessFigures(ofRun())).slice(0, 9)).toEqual([
      'steps',
      'executions',
      'maxEventsPerExecution',
      'maxBytesPerExecution',
      'msPerStepFirst',
      'msPerStepLast',
      'rssFirst',
      'rssLast',
      'exportGaps',
    ]);
  });

  it('are flat for a run whose steps all cost the same', () => {
    expect(endlessFigures(ofRun())).toMatchObject({
      steps: STEPS,
      msPerStepFirst: 10,
      msPerStepLast: 10,
      msPerStepGrowth: 1,
      rssFirst: 1_000,
      rssLast: 1_000,
      rssGrowth: 1,
      cpuMsPerStepByTenth: Array.from({ length: 10 }, () => 4),
      msPerStepByTenth: Array.from({ length: 10 }, () => 10),
    });
  });

  it('compare the means of the first and the last tenth of the steps, independent of the others', () => {
    const starts = startsOf((step) => (step < 10 ? 10 : step === 95 ? 60 : step < 90 ? 500 : 10));
    expect(endlessFigures(ofRun({ starts }))).toMatchObject({
      msPerStepFirst: 10,
      msPerStepLast: 15,
      msPerStepGrowth: 1.5,
      msPerStepP50First: 10,
      msPerStepP50Last: 10,
    });
  });

  it('compare the median memory readings of the first and the last tenth', () => {
    const samples = ofRun().samples.map((sample) => (sample.step > 90 ? { ...sample, rss: 1_500 } : sample));
    samples[3] = { step: 4, rss: 9_000, heap: 100, workflowHeap: 200, cpuMs: 0 };
    expect(endlessFigures(ofRun({ samples }))).toMatchObject({ rssFirst: 1_000, rssLast: 1_500, rssGrowth: 1.5 });
  });

  it('name the largest execution, by events and by bytes', () => {
    const executions = [
      { events: 10, bytes: 900, summaries: 0 },
      { events: 50, bytes: 700, summaries: 2 },
      { events: 5, bytes: 100, summaries: 1 },
    ];
    expect(endlessFigures(ofRun({ executions }))).toMatchObject({
      executions: 3,
      maxEventsPerExecution: 50,
      maxBytesPerExecution: 900,
      summaries: 3,
    });
  });

  it('are refused if a step is missing', () => {
    expect(() => endlessFigures(ofRun({ starts: startsOf(() => 10).slice(1) }))).toThrow('The run had 99 steps, not 100');
  });
});
