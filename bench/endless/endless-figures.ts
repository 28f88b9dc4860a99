import type { WorkerSample, StepTimes } from './endless-messages.ts';
import { mean, median, rounded, sum } from '../figures/statistics.ts';
import { cpuMsPerStep, ends, tenths } from '../figures/tenths.ts';

/** One execution of the run. */
export interface WeighedExecution {
  events: number;
  bytes: number;
  /** Model calls that summarized the older part of the conversation. */
  summaries: number;
}

/** The measurements of an endless run. */
export interface EndlessRun extends StepTimes {
  steps: number;
  /** The oldest first. */
  executions: readonly WeighedExecution[];
  samples: readonly WorkerSample[];
  /** The gaps in its export, and the items that are out of order. */
  exportGaps: number;
}

/** The figures of an endless run: the main figures first, and then those that explain them. Milliseconds, bytes. */
export interface EndlessFigures {
  steps: number;
  executions: number;
  maxEventsPerExecution: number;
  maxBytesPerExecution: number;
  /** The mean over the first tenth of the steps, compaction and continue-as-new included. */
  msPerStepFirst: number;
  msPerStepLast: number;
  /** The median of the readings in the first tenth. */
  rssFirst: number;
  rssLast: number;
  exportGaps: number;
  /** `msPerStepLast / msPerStepFirst`. */
  msPerStepGrowth: number;
  rssGrowth: number;
  msPerStepP50First: number;
  msPerStepP50Last: number;
  msPerStepByTenth: number[];
  rssByTenth: number[];
  /** The size of the main heap after a collection. */
  heapByTenth: number[];
  /** The size of the heap of the workflow thread after a collection. */
  workflowHeapByTenth: number[];
  /** CPU time of the worker's process over steps, between the first reading of a tenth and its last. */
  cpuMsPerStepByTenth: number[];
  /** Model calls that summarized the older part of the conversation. They are not steps; their time is part of the steps' time. */
  summaries: number;
  retries: number;
}

/** Computes the figures of a run. Throws if steps or readings are missing. */
export function endlessFigures(run: EndlessRun): EndlessFigures {
  const { steps, executions, starts, samples, exportGaps, retries } = run;
  if (starts.length !== steps + 1) throw new Error(`The run had ${starts.length - 1} steps, not ${steps}: a call was repeated or left out`);
  const durations = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
  const times = tenths(
    durations.map((ms, place) => ({ step: place, ms })),
    steps,
  );
  const readings = tenths(samples, steps + 1);
  const msPerStepByTenth = times.map((tenth) => rounded(mean(tenth.map(({ ms }) => ms)), 2));
  const rssByTenth = readings.map((tenth) => median(tenth.map(({ rss }) => rss)));
  const p50 = (tenth: { ms: number }[] = []): number => rounded(median(tenth.map(({ ms }) => ms)), 2);
  const [msPerStepFirst, msPerStepLast] = ends(msPerStepByTenth);
  const [rssFirst, rssLast] = ends(rssByTenth);
  return {
    steps,
    executions: executions.length,
    maxEventsPerExecution: Math.max(...executions.map(({ events }) => events)),
    maxBytesPerExecution: Math.max(...executions.map(({ bytes }) => bytes)),
    msPerStepFirst,
    msPerStepLast,
    rssFirst,
    rssLast,
    exportGaps,
    msPerStepGrowth: rounded(msPerStepLast / msPerStepFirst, 3),
    rssGrowth: rounded(rssLast / rssFirst, 3),
    msPerStepP50First: p50(times[0]),
    msPerStepP50Last: p50(times.at(-1)),
    msPerStepByTenth,
    rssByTenth,
    heapByTenth: readings.map((tenth) => median(tenth.map(({ heap }) => heap))),
    workflowHeapByTenth: readings.map((tenth) => median(tenth.map(({ workflowHeap }) => workflowHeap))),
    cpuMsPerStepByTenth: readings.map(cpuMsPerStep),
    summaries: sum(executions.map(({ summaries }) => summaries)),
    retries,
  };
}
