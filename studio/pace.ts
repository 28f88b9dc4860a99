// How long the page waits before it asks again, and how often it reads what the stream of a run does not bring.

/** Waits, and no longer than until the signal. */
export function pause(ms: number, until?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (until?.aborted === true) return resolve();
    const timer = setTimeout(resolve, ms);
    until?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The shortest pause between two readings of the facts of a run, and the longest one, in milliseconds. */
const LEAST = 4_000;
const MOST = 20_000;

/** To read the facts of a run takes the longer the more it has done, or its service has to do: up to the longest pause, it takes a hundredth of the time. */
const TIMES = 100;

/** All who show a run that moves on and on read its facts at the same moments, so that their service reads them once: every so many milliseconds. */
const TOGETHER = 1_000;

/** Returns the pause behind a reading of the facts of a run that has taken so long, in milliseconds. */
export function pauseBehind(ms: number): number {
  return Math.min(MOST, Math.max(LEAST, ms * TIMES));
}

/** Pages of the timeline that are read by themselves: a run of thousands of steps has many more. */
export const FIRST_PAGES = 3;

/** What is known of a run when its facts are read. */
interface Moment {
  runId: string;
  status: string;
  answers: number;
}

/** A reading of the facts of a run. */
export interface Reading extends Moment {
  /** The time at which it has ended; undefined while it is under way. */
  endedAt: number | undefined;
  ms: number;
}

/** The statuses of runs that continue. */
const LIVE: ReadonlySet<string> = new Set(['running', 'pending_confirmation', 'paused', 'idle']);

/**
 * Returns a reading that was begun before the stream of the run had told its status: the first one that it tells is that of the reading. The
 * end of a run is not: the reading may have been a moment before it.
 */
export function withFirstStatus(read: Reading, { status }: Moment): Reading {
  return read.status === '' && LIVE.has(status) ? { ...read, status } : read;
}

/**
 * Returns the milliseconds until the facts of a run are to be read: none if its status is another one, undefined if nothing has changed, or
 * before a reading has ended.
 */
export function dueIn(read: Reading, seen: Moment, now: number): number | undefined {
  if (seen.status !== read.status) return 0;
  if (seen.answers === read.answers || read.endedAt === undefined) return undefined;
  const from = read.endedAt + pauseBehind(read.ms);
  if (from <= now) return 0;
  const phase = phaseOf(seen.runId);
  return Math.ceil((from - phase) / TOGETHER) * TOGETHER + phase - now;
}

/** Returns the place of a run in the time that those who show it have in common: pages of different runs read at different moments. */
function phaseOf(runId: string): number {
  let phase = 0;
  for (let index = 0; index < runId.length; index += 1) phase = (phase * 31 + runId.charCodeAt(index)) % TOGETHER;
  return phase;
}

/** A page of a timeline, as far as it decides whether it is read again. */
interface TimelinePage {
  next?: number;
  spans: readonly { to?: string }[];
}

/** Every so many readings, all pages of a timeline are read. */
const ALL_EVERY = 5;

/**
 * Returns the first pages of a timeline that a reading takes as they were: each is full, and everything in it has ended. They change seldom, and
 * not never: a call inside a workflow task, and a child that an execution before has started, are known only when they end, and belong to where
 * they began. So each fifth reading takes none. `readings`: how many there were before, since the status is this one.
 */
export function settledPages<Page extends TimelinePage>(pages: readonly Page[], readings: number): Page[] {
  if (readings % ALL_EVERY === 0) return [];
  const first = pages.findIndex(({ next, spans }) => next === undefined || spans.some(({ to }) => to === undefined));
  return pages.slice(0, first < 0 ? pages.length : first);
}
