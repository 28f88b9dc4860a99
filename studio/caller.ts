import { signal } from '@preact/signals';
import { ask, connection, follow, Refused } from './api.ts';
import type { Approval, FeedItem, Me } from './api-types.ts';
import { isDue, LOOK_EVERY, movedRuns, orderOf, pauseBefore } from './listing.ts';
import { isOutdated } from './version.ts';

// What all pages share: the caller, the feed of all runs, and the number of decisions that wait.

export const me = signal<Me | undefined>(undefined);
export const meError = signal<unknown>(undefined);

/** The approvals that wait, of all runs that the caller reaches. Undefined until they are listed. */
export const waiting = signal<Approval[] | undefined>(undefined);
export const waitingError = signal<unknown>(undefined);

const listeners = new Set<(items: FeedItem[]) => void>();

/** Calls back with what happens in all runs. Returns the end of that. */
export function onFeed(listener: (items: FeedItem[]) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function may(scope: Me['scopes'][number]): boolean {
  const { scopes = [] } = me.value ?? {};
  return scopes.includes(scope) || scopes.includes('admin');
}

/** True for a run that the credentials of the reader reach: a token for one run reaches no other, also none below it. */
export function reaches(runId: string): boolean {
  const { runId: only = runId } = me.value ?? {};
  return only === runId;
}

let following: AbortController | undefined;

/** True while the feed says what begins and ends to wait: what waits is listed when it does, and seldom besides. */
let isFed = false;
let listedAt = 0;

/** Asks who the caller is, and follows the feed from then on. */
export async function begin(): Promise<void> {
  following?.abort();
  following = new AbortController();
  const { signal: until } = following;
  forgetWaiting();
  me.value = undefined;
  try {
    meError.value = undefined;
    const caller = await ask('GET /v1/me', { signal: until });
    if (until.aborted) return;
    me.value = caller;
  } catch (error) {
    if (!until.aborted) meError.value = error;
    return;
  }
  void listWaiting();
  keepListed(until);
  // A token for one run follows that run alone: its page does.
  if (me.value.runId !== undefined) return;
  isFed = true;
  await follow('GET /v1/feed', { signal: until }, (items) => {
    noteMoved(items);
    for (const listener of listeners) listener(items);
  }).catch((error: unknown) => {
    if (!until.aborted) meError.value = error;
  });
  if (!until.aborted) isFed = false;
}

/** Lists what waits anew when that is due, until the signal. */
function keepListed(until: AbortSignal): void {
  const look = (): void => {
    const isWell = isFed && connection.value === '' && waitingError.value === undefined;
    if (isDue({ sinceMs: Date.now() - listedAt, isWell, isHidden: document.hidden })) void listWaiting();
  };
  const often = setInterval(look, LOOK_EVERY);
  document.addEventListener('visibilitychange', look, { signal: until });
  let wasLost = false;
  const end = connection.subscribe((lost) => {
    if (wasLost && lost === '') {
      listSoon({ all: true });
      void compareVersion(until);
    }
    wasLost = lost !== '';
  });
  until.addEventListener('abort', () => {
    clearInterval(often);
    end();
  });
}

/** A service that was away may come back with another version. */
async function compareVersion(until: AbortSignal): Promise<void> {
  try {
    const { versions } = await ask('GET /v1/me', { signal: until });
    if (versions.longhaul !== me.peek()?.versions.longhaul) isOutdated.value = true;
  } catch {
    // The next request says what is wrong.
  }
}

let soon: ReturnType<typeof setTimeout> | undefined;

/** The questions that are asked once more. */
let later = new Set<ReturnType<typeof setTimeout>>();

/** The least time between two questions that the feed asks for, in milliseconds. */
const AT_MOST_EVERY = 500;

/** A run may be announced before it says itself that it waits: it is asked once more after this time, in milliseconds. */
const ONCE_MORE_AFTER = 3_000;

/** Runs that are asked one by one. Of more, everything that waits is listed. */
const ONE_BY_ONE = 20;

/** The runs in which something begins or ends to wait, until they are asked. */
let moved = new Set<string>();

function noteMoved(items: readonly FeedItem[]): void {
  const isGap = items.some(({ type }) => type === 'gap');
  const runs = movedRuns(items, waiting.peek() ?? []);
  if (!isGap && runs.length === 0) return;
  for (const runId of runs) moved.add(runId);
  listSoon({ all: isGap });
}

let isAllDue = false;
let askedAt = 0;

function listSoon({ all }: { all: boolean }): void {
  isAllDue ||= all;
  soon ??= setTimeout(
    () => {
      soon = undefined;
      const runs = moved;
      moved = new Set();
      void listRuns(runs);
      listAfter(ONCE_MORE_AFTER, runs);
    },
    pauseBefore({ least: 100, every: AT_MOST_EVERY, sinceMs: Date.now() - askedAt }),
  );
}

/** Lists what waits in some runs after a time, which nothing that happens meanwhile makes longer. */
function listAfter(ms: number, runs: ReadonlySet<string>): void {
  const timer = setTimeout(() => {
    later.delete(timer);
    void listRuns(runs);
  }, ms);
  later.add(timer);
}

/** A run that waits again for the same tool within some seconds has no item in the feed of a service without a sink. */
const AFTER_DECISION = [ONCE_MORE_AFTER, 8_000];

/** Lists what waits in a run about which a reader has decided: at once, and when it may wait again. */
export function listDecided(runId: string): Promise<void> {
  for (const ms of AFTER_DECISION) listAfter(ms, new Set([runId]));
  return listRun(runId);
}

/** Lists what waits in some runs anew: on a service where much waits, to list all of it takes seconds. */
async function listRuns(runs: ReadonlySet<string>): Promise<void> {
  askedAt = Date.now();
  if (isAllDue || runs.size > ONE_BY_ONE || waiting.peek() === undefined) return listWaiting();
  await Promise.all([...runs].map(listRun));
}

/** Lists what waits in a run, and in those below it. */
export async function listRun(runId: string): Promise<void> {
  askedMeanwhile.add(runId);
  const own = (newestOf.get(runId) ?? 0) + 1;
  const [numbers, until] = [newestOf, following?.signal];
  numbers.set(runId, own);
  try {
    const pending = await approvalsOf(runId).catch((error: unknown) => {
      if (error instanceof Refused && error.problem.code === 'run_not_found') return [];
      throw error;
    });
    // An answer that another one has overtaken says what was, and one to another caller is not for this one.
    if (until?.aborted || numbers.get(runId) !== own) return;
    failures.delete(runId);
    const others = (waiting.peek() ?? []).filter((one) => one.runId !== runId && one.runId?.startsWith(`${runId}/`) !== true);
    show([...others, ...pending]);
  } catch (error) {
    if (until?.aborted || numbers.get(runId) !== own) return;
    failures.set(runId, error);
    showFailure();
  } finally {
    if (numbers.get(runId) === own) numbers.delete(runId);
  }
}

/** The newest question to each run. */
let newestOf = new Map<string, number>();

/** Stands for all runs among those whose questions have failed. */
const EVERY_RUN = '';

/** Why the last question to a run has failed. What is known of other runs does not answer it. */
let failures = new Map<string, unknown>();

/** Shows what waits: the oldest deadline first, then the oldest request. */
function show(found: readonly Approval[]): void {
  waiting.value = found.toSorted((one, other) => orderOf(one).localeCompare(orderOf(other)));
  showFailure();
}

function showFailure(): void {
  [waitingError.value] = failures.values();
}

let listings = 0;
let newestListing = 0;

/** The runs that were asked since the last listing of all was begun, which may not know yet what they have said. */
let askedMeanwhile = new Set<string>();

/** Lists everything that waits anew. */
export async function listWaiting(): Promise<void> {
  listings += 1;
  isAllDue = false;
  askedMeanwhile = new Set();
  const [own, until] = [listings, following?.signal];
  listedAt = Date.now();
  try {
    const found = await approvalsReached();
    if (until?.aborted || own < newestListing) return;
    newestListing = own;
    const asked = askedMeanwhile;
    askedMeanwhile = new Set();
    failures = new Map();
    show(found);
    await Promise.all([...asked].map(listRun));
  } catch (error) {
    if (until?.aborted || own <= newestListing) return;
    failures.set(EVERY_RUN, error);
    showFailure();
  }
}

/** Forgets what waits for another caller, and what was to be asked for it. */
function forgetWaiting(): void {
  for (const timer of [soon, ...later]) clearTimeout(timer);
  [soon, later, moved, newestOf, failures, askedMeanwhile] = [undefined, new Set(), new Set(), new Map(), new Map(), new Set()];
  isAllDue = false;
  isFed = false;
  listedAt = 0;
  waiting.value = undefined;
  waitingError.value = undefined;
}

async function approvalsReached(): Promise<Approval[]> {
  const { runId } = me.peek() ?? {};
  if (runId !== undefined) return approvalsOf(runId);
  const found: Approval[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask('GET /v1/approvals', { query: { limit: 200, cursor } });
    found.push(...page.approvals);
    cursor = page.next;
  } while (cursor !== undefined && found.length < 2_000);
  return found;
}

async function approvalsOf(run: string): Promise<Approval[]> {
  const { about, pending } = await ask('GET /v1/runs/{runId}/approvals', { params: { runId: run } });
  return pending.map(({ runId = run, ...one }) => ({ about, ...one, runId }));
}

/** Counts the runs that were begun anew from here: their records are read from the beginning. */
export const restarts = signal(0);
