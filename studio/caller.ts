import { signal } from '@preact/signals';
import { ask, connection, follow } from './api.ts';
import type { Approval, FeedItem, Me } from './api-types.ts';
import { isDue, LOOK_EVERY, orderOf, pauseBefore } from './listing.ts';
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

let following: AbortController | undefined;

/** True while the feed says what begins and ends to wait: what waits is listed when it does, and seldom besides. */
let isFed = false;
let listedAt = 0;

/** Asks who the caller is, and follows the feed from then on. */
export async function begin(): Promise<void> {
  following?.abort();
  following = new AbortController();
  const { signal: until } = following;
  try {
    meError.value = undefined;
    me.value = await ask('GET /v1/me', { signal: until });
  } catch (error) {
    if (!until.aborted) meError.value = error;
    return;
  }
  void listWaiting();
  keepListed(until);
  isFed = true;
  await follow('GET /v1/feed', { signal: until }, (items) => {
    if (items.some(({ type }) => type === 'waiting' || type === 'decided' || type === 'ended' || type === 'gap')) listSoon();
    for (const listener of listeners) listener(items);
  }).catch((error: unknown) => {
    meError.value = error;
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
      listSoon();
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
let later: ReturnType<typeof setTimeout> | undefined;

/** The least time between two listings that the feed asks for, in milliseconds. */
const AT_MOST_EVERY = 1_000;

/** A call may be announced before the server lists its run as one that waits: it is listed once more after this time, in milliseconds. */
const ONCE_MORE_AFTER = 3_000;

function listSoon(): void {
  soon ??= setTimeout(
    () => {
      soon = undefined;
      void listWaiting();
    },
    pauseBefore({ least: 150, every: AT_MOST_EVERY, sinceMs: Date.now() - listedAt }),
  );
  clearTimeout(later);
  later = setTimeout(() => void listWaiting(), ONCE_MORE_AFTER);
}

let listings = 0;
let newestListing = 0;

/** Lists what waits anew: the oldest deadline first, then the oldest request. */
export async function listWaiting(): Promise<void> {
  listings += 1;
  const own = listings;
  listedAt = Date.now();
  try {
    const found: Approval[] = [];
    let cursor: string | undefined;
    do {
      const page = await ask('GET /v1/approvals', { query: { limit: 200, cursor } });
      found.push(...page.approvals);
      cursor = page.next;
    } while (cursor !== undefined && found.length < 2_000);
    // An answer that another one has overtaken says what was.
    if (own < newestListing) return;
    newestListing = own;
    waiting.value = found.toSorted((one, other) => orderOf(one).localeCompare(orderOf(other)));
    waitingError.value = undefined;
  } catch (error) {
    if (own > newestListing) waitingError.value = error;
  }
}

/** Counts the runs that were begun anew from here: their records are read from the beginning. */
export const restarts = signal(0);
