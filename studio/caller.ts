import { signal } from '@preact/signals';
import { ask, connection, follow, needsKey, Refused } from './api.ts';
import type { Approval, FeedItem, Me, Problem, UnreadRun } from './api-types.ts';
import { isDue, LOOK_EVERY, movedRuns, orderOf, pauseBefore } from './listing.ts';
import { isOutdated } from './version.ts';

// What all pages share: the caller, the feed of all runs, and the number of decisions that wait.

export const me = signal<Me | undefined>(undefined);
export const meError = signal<unknown>(undefined);

/** The approvals that wait, of all runs that the caller reaches. Undefined until they are listed. */
export const waiting = signal<Approval[] | undefined>(undefined);
export const waitingError = signal<unknown>(undefined);

/** True if more wait than are listed. */
export const waitsMore = signal(false);

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

/** Returns a signal that is aborted once the credentials of the reader are others: what was begun before is not for the next caller. */
export function untilOther(): AbortSignal {
  return following?.signal ?? AbortSignal.abort();
}

const forgetting: (() => void)[] = [];

/** Calls back when the credentials of the reader are taken away or others: parts of the page forget what they know of the caller. */
export function onEnd(forget: () => void): void {
  forgetting.push(forget);
}

/** Ends what is done for the caller, and forgets everything that is known of it. */
export function end(): void {
  following?.abort();
  following = undefined;
  forgetWaiting();
  me.value = undefined;
  meError.value = undefined;
  for (const forget of forgetting) forget();
}

// The reader has taken the key away, or the service does not take it any more.
needsKey.subscribe((isNeeded) => {
  if (isNeeded) end();
});

/** Asks who the caller is, and follows the feed from then on. */
export async function begin(): Promise<void> {
  end();
  following = new AbortController();
  const { signal: until } = following;
  try {
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
  const leave = connection.subscribe((lost) => {
    if (wasLost && lost === '') {
      listSoon({ all: true });
      void compareVersion(until);
    }
    wasLost = lost !== '';
  });
  until.addEventListener('abort', () => {
    clearInterval(often);
    leave();
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

/** The runs that are due to be asked, and those among them in which something has begun or ended to wait: these are asked once more. */
let due = new Set<string>();
let moved = new Set<string>();

function noteMoved(items: readonly FeedItem[]): void {
  const isGap = items.some(({ type }) => type === 'gap');
  const runs = movedRuns(items, waiting.peek() ?? []);
  if (!isGap && runs.length === 0) return;
  for (const runId of runs) moved.add(runId);
  listSoon({ all: isGap, runs });
}

let isAllDue = false;
let askedAt = 0;

/** The last listing that was due. The next one waits for it. */
let lastDue: Promise<void> = Promise.resolve();

function listSoon({ all, runs = [] }: { all: boolean; runs?: Iterable<string> }): void {
  isAllDue ||= all;
  for (const runId of runs) due.add(runId);
  soon ??= setTimeout(() => void listDue(), pauseBefore({ least: 100, every: AT_MOST_EVERY, sinceMs: Date.now() - askedAt }));
}

/** Lists what is due. What becomes due while the listing before is under way joins it. */
async function listDue(): Promise<void> {
  const until = untilOther();
  await lastDue;
  if (until.aborted) return;
  const [runs, again] = [due, moved];
  [soon, due, moved] = [undefined, new Set(), new Set()];
  if (again.size > 0) listAfter(ONCE_MORE_AFTER, again);
  lastDue = listRuns(runs);
}

/** Lists what waits in some runs after a time, with what is due then. Nothing that happens meanwhile makes the time longer. */
function listAfter(ms: number, runs: Iterable<string>): void {
  const timer = setTimeout(() => {
    later.delete(timer);
    listSoon({ all: false, runs });
  }, ms);
  later.add(timer);
}

/** A run that waits again for the same tool within some seconds has no item in the feed of a service without a sink. */
const AFTER_DECISION = [ONCE_MORE_AFTER, 8_000];

/** Lists what waits in a run about which a reader has decided, at once and when it may wait again: unless the reader is another one by now. */
export async function listDecided(runId: string, until: AbortSignal): Promise<void> {
  if (until.aborted) return;
  for (const ms of AFTER_DECISION) listAfter(ms, [runId]);
  await listRun(runId);
}

/** Lists what waits in some runs anew: on a service where much waits, to list all of it takes seconds. */
async function listRuns(runs: ReadonlySet<string>): Promise<void> {
  askedAt = Date.now();
  if (isAllDue || runs.size > ONE_BY_ONE || waiting.peek() === undefined) return listWaiting();
  await Promise.all([...runs].map(listRun));
}

/** Lists what waits in a run, and in those below it. */
export async function listRun(runId: string): Promise<void> {
  const [numbers, until] = [newestOf, untilOther()];
  if (until.aborted) return;
  askedMeanwhile.add(runId);
  const own = (newestOf.get(runId) ?? 0) + 1;
  numbers.set(runId, own);
  try {
    const pending = await approvalsOf(runId, until).catch((error: unknown) => {
      if (error instanceof Refused && error.problem.code === 'run_not_found') return [];
      throw error;
    });
    // An answer that another one has overtaken says what was, and one to another caller is not for this one.
    if (until.aborted || numbers.get(runId) !== own) return;
    failures.delete(runId);
    const others = (waiting.peek() ?? []).filter((one) => one.runId !== runId && one.runId?.startsWith(`${runId}/`) !== true);
    show([...others, ...pending]);
  } catch (error) {
    if (until.aborted || numbers.get(runId) !== own) return;
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

/** The runs that were asked since the last listing of all was begun, which may not know yet what they have said. */
let askedMeanwhile = new Set<string>();

/** The listing of everything, and the one that follows it. */
let listing: Promise<void> | undefined;
let nextListing: Promise<void> | undefined;

/** Lists everything that waits anew. All who ask for it during a listing get the next one. */
export function listWaiting(): Promise<void> {
  const until = untilOther();
  if (until.aborted) return Promise.resolve();
  if (listing === undefined) {
    listing = listAll(until).finally(() => {
      if (!until.aborted) listing = undefined;
    });
    return listing;
  }
  nextListing ??= listing.then(() => {
    if (until.aborted) return undefined;
    nextListing = undefined;
    return listWaiting();
  });
  return nextListing;
}

async function listAll(until: AbortSignal): Promise<void> {
  isAllDue = false;
  // So many would be asked by another listing of everything.
  if (due.size > ONE_BY_ONE) due = new Set();
  askedMeanwhile = new Set();
  listedAt = Date.now();
  try {
    const { found, unread } = await approvalsReached(until);
    if (until.aborted) return;
    const asked = askedMeanwhile;
    askedMeanwhile = new Set();
    failures = new Map(unread.map((run) => [run.runId, unreadProblem(run)]));
    // What such a run has waited for before may still wait.
    show([...found, ...(waiting.peek() ?? []).filter(({ runId }) => unread.some((run) => run.runId === runId))]);
    await Promise.all([...asked].map(listRun));
  } catch (error) {
    if (until.aborted) return;
    failures.set(EVERY_RUN, error);
    showFailure();
  }
}

/** Returns why a run of the list could not be read, as if it had been asked alone. */
function unreadProblem({ runId, code, message }: UnreadRun): Refused {
  return new Refused({ code: code as Problem['code'], status: 503, detail: `${runId}: ${message}` });
}

/** Forgets what waits for another caller, and what was to be asked for it. */
function forgetWaiting(): void {
  for (const timer of [soon, ...later]) clearTimeout(timer);
  [soon, later, due, moved, newestOf, failures, askedMeanwhile] = [
    undefined,
    new Set(),
    new Set(),
    new Set(),
    new Map(),
    new Map(),
    new Set(),
  ];
  [listing, nextListing, lastDue] = [undefined, undefined, Promise.resolve()];
  isAllDue = false;
  isFed = false;
  listedAt = 0;
  waiting.value = undefined;
  waitsMore.value = false;
  waitingError.value = undefined;
}

/** The most approvals that are listed: of more, the page says that there are. */
const MOST_LISTED = 2_000;

async function approvalsReached(until: AbortSignal): Promise<{ found: Approval[]; unread: UnreadRun[] }> {
  const { runId } = me.peek() ?? {};
  if (runId !== undefined) return { found: await approvalsOf(runId, until), unread: [] };
  const found: Approval[] = [];
  const unread: UnreadRun[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask('GET /v1/approvals', { query: { limit: 200, cursor }, signal: until });
    found.push(...page.approvals);
    unread.push(...(page.unread ?? []));
    cursor = page.next;
  } while (cursor !== undefined && found.length < MOST_LISTED);
  if (!until.aborted) waitsMore.value = cursor !== undefined;
  return { found, unread };
}

async function approvalsOf(run: string, until: AbortSignal): Promise<Approval[]> {
  const { about, pending } = await ask('GET /v1/runs/{runId}/approvals', { params: { runId: run }, signal: until });
  return pending.map(({ runId = run, ...one }) => ({ about, ...one, runId }));
}

/** Counts the runs that were begun anew from here: their records are read from the beginning. */
export const restarts = signal(0);
