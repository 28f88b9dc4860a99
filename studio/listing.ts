import type { Approval, FeedItem, RunEntry } from './api-types.ts';
import { pause } from './pace.ts';

// When lists are read anew, and what becomes of what they show. The pages that ask are `caller.ts` and `runs.tsx`.

/** The pause between two looks at whether a listing is due, in milliseconds. */
export const LOOK_EVERY = 15_000;

/** What waits is listed at least so often, in milliseconds, also if the feed says nothing. */
const AT_LEAST_EVERY = 120_000;

interface Listing {
  /** The time since the last listing. */
  sinceMs: number;
  /** True if the feed would say what changes, and nothing has gone wrong. */
  isWell: boolean;
  /** True if nobody sees the page. */
  isHidden: boolean;
}

/** True if what waits has to be listed although the feed has said nothing. */
export function isDue({ sinceMs, isWell, isHidden }: Listing): boolean {
  return !isHidden && sinceMs >= (isWell ? AT_LEAST_EVERY : LOOK_EVERY - 1_000);
}

/** Returns the pause before a listing that an event asks for, in milliseconds: on a busy service something happens all the time. */
export function pauseBefore({ least, every, sinceMs }: { least: number; every: number; sinceMs: number }): number {
  return Math.max(least, every - sinceMs);
}

/** What a reader only passes by is not asked for, in milliseconds. */
const LOOKED_AT_AFTER = 250;

/** The first pause before what a reader looks at is asked for anew, and the longest one, in milliseconds. */
const CHECKED_AFTER = 10_000;
const CHECKED_AT_LEAST_EVERY = 120_000;

/**
 * Asks about what a reader looks at, as soon as it is looked at and again until the signal: the more rarely, the longer the answer is the same,
 * because a worker has to answer. `ask` returns the answer as a text.
 */
export async function keepChecked(ask: () => Promise<string>, until: AbortSignal): Promise<void> {
  let last: string | undefined;
  let pauseMs = CHECKED_AFTER;
  for (await pause(LOOKED_AT_AFTER, until); !until.aborted; await pause(pauseMs, until)) {
    const answer = await ask();
    pauseMs = answer === last ? Math.min(CHECKED_AT_LEAST_EVERY, pauseMs * 2) : CHECKED_AFTER;
    last = answer;
  }
}

/**
 * Returns the runs that have to be asked what waits in them. A run that has ended is asked only if something of it is shown: most runs end
 * without having waited for anybody.
 */
export function movedRuns(items: readonly FeedItem[], shown: readonly Pick<Approval, 'runId'>[]): string[] {
  return items.flatMap((item) => {
    if (item.type === 'gap' || item.type === 'started') return [];
    const { runId } = item.run;
    const isShown = shown.some((one) => one.runId === runId || one.runId?.startsWith(`${runId}/`));
    return item.type !== 'ended' || isShown ? [runId] : [];
  });
}

/** Returns the place of what waits: the oldest deadline first, then the oldest request. */
export function orderOf({ deadlineAt, requestedAt }: Pick<Approval, 'deadlineAt' | 'requestedAt'>): string {
  return `${deadlineAt ?? '9'} ${requestedAt}`;
}

/** What a run has used, in its entry. */
const AMOUNTS = ['steps', 'tokens', 'cost', 'durationMs'] as const;

/** Returns the entry of a run according to the feed. The service reports its usage once it has begun or ended again. */
export function changed(run: RunEntry, items: readonly FeedItem[]): RunEntry {
  const own = items.filter((one) => one.type !== 'gap').filter((one) => one.run.runId === run.runId);
  const last = own.at(-1);
  if (last === undefined) return run;
  const { status, waitingFor, endTime, title } = last.run;
  const isOther = own.some(({ type }) => type === 'started' || type === 'ended');
  const now: RunEntry = { ...run, waitingFor, endTime: endTime ?? null };
  if (status !== undefined) now.status = status;
  if (title !== undefined) now.title = title;
  if (isOther) for (const amount of AMOUNTS) delete now[amount];
  return now;
}

/** True if the feed reports an execution that began after the run's end: somebody has retried it. */
export function isBegunAgain(items: readonly FeedItem[], { runId, endTime }: { runId: string; endTime: string | null }): boolean {
  return items.some((item) => {
    if (item.type === 'gap' || item.run.runId !== runId) return false;
    return endTime === null ? item.type === 'started' : Date.parse(item.run.startTime) > Date.parse(endTime);
  });
}

/** The runs that a page shows, and how to read more. */
export interface RunPages {
  runs: RunEntry[];
  next?: string;
  cut?: boolean;
}

/** Returns what is shown once the first page was read anew: what a reader has opened behind it stays. */
export function renewed(before: RunPages | undefined, first: RunPages): RunPages {
  const ids = new Set(first.runs.map(({ runId }) => runId));
  const known = before?.runs.findLastIndex(({ runId }) => ids.has(runId)) ?? -1;
  if (before === undefined || first.next === undefined || known < 0) return first;
  const behind = before.runs.slice(known + 1);
  return behind.length === 0 ? first : { ...before, runs: [...first.runs, ...behind] };
}
