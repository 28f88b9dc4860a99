import { type StepTimes, type WorkerSample, cpuMsPerStep, ends, tenths } from '../endless/endless-clock.ts';
import { mean, median, rounded, sum } from '../figures/statistics.ts';
import type { SessionHistories } from './session-histories.ts';

/** The measurements of one long session. */
export interface MeasuredSession extends StepTimes {
  messages: number;
  histories: SessionHistories;
  samples: readonly WorkerSample[];
}

/** The figures of one long session: the main figures first, and then those that explain them. Milliseconds, bytes. */
export interface SessionFigures {
  messages: number;
  executions: number;
  /** Events of all executions divided by the messages: summaries, refreshes and the beginnings of executions included. */
  eventsPerTurn: number;
  maxEventsPerExecution: number;
  maxBytesPerExecution: number;
  /** The mean over the first tenth of the turns, each from the start of its model call to the start of the next. */
  msPerTurnFirst: number;
  msPerTurnLast: number;
  bytesPerTurnFirst: number;
  bytesPerTurnLast: number;
  /** The median of the readings in the first tenth. */
  rssFirst: number;
  rssLast: number;
  /** `msPerTurnLast / msPerTurnFirst`, and so on. */
  msPerTurnGrowth: number;
  bytesPerTurnGrowth: number;
  rssGrowth: number;
  msPerTurnByTenth: number[];
  msPerTurnP50ByTenth: number[];
  bytesPerTurnByTenth: number[];
  rssByTenth: number[];
  heapByTenth: number[];
  workflowHeapByTenth: number[];
  cpuMsPerTurnByTenth: number[];
  summaries: number;
  retries: number;
}

/** Computes the figures of a session. Throws if turns are missing. */
export function sessionFigures({ messages, histories, starts, samples, retries }: MeasuredSession): SessionFigures {
  if (starts.length !== messages) throw new Error(`The session made ${starts.length} model calls for ${messages} messages`);
  const { executions, turnBytes, summaries } = histories;
  const durations = starts.slice(1).map((start, index) => ({ step: index, value: start - (starts[index] ?? 0) }));
  const times = tenths(durations, messages);
  const sizes = tenths(
    turnBytes.map((value, step) => ({ step, value })),
    messages,
  );
  const readings = tenths(samples, messages);
  const means = (parts: { value: number }[][]): number[] => parts.map((part) => rounded(mean(part.map(({ value }) => value)), 2));
  const medians = (read: (sample: WorkerSample) => number): number[] => readings.map((tenth) => median(tenth.map(read)));
  const [msPerTurnByTenth, bytesPerTurnByTenth, rssByTenth] = [means(times), means(sizes), medians(({ rss }) => rss)];
  const [msPerTurnFirst, msPerTurnLast] = ends(msPerTurnByTenth);
  const [bytesPerTurnFirst, bytesPerTurnLast] = ends(bytesPerTurnByTenth);
  const [rssFirst, rssLast] = ends(rssByTenth);
  return {
    messages,
    executions: executions.length,
    eventsPerTurn: rounded(sum(executions.map(({ events }) => events)) / messages, 2),
    maxEventsPerExecution: Math.max(...executions.map(({ events }) => events)),
    maxBytesPerExecution: Math.max(...executions.map(({ bytes }) => bytes)),
    msPerTurnFirst,
    msPerTurnLast,
    bytesPerTurnFirst,
    bytesPerTurnLast,
    rssFirst,
    rssLast,
    msPerTurnGrowth: rounded(msPerTurnLast / msPerTurnFirst, 3),
    bytesPerTurnGrowth: rounded(bytesPerTurnLast / bytesPerTurnFirst, 3),
    rssGrowth: rounded(rssLast / rssFirst, 3),
    msPerTurnByTenth,
    msPerTurnP50ByTenth: times.map((tenth) => rounded(median(tenth.map(({ value }) => value)), 2)),
    bytesPerTurnByTenth,
    rssByTenth,
    heapByTenth: medians(({ heap }) => heap),
    workflowHeapByTenth: medians(({ workflowHeap }) => workflowHeap),
    cpuMsPerTurnByTenth: readings.map(cpuMsPerStep),
    summaries,
    retries,
  };
}
