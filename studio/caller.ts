import { signal } from '@preact/signals';
import { ask, follow } from './api.ts';
import type { Approval, FeedItem, Me } from './api-types.ts';

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

/** What waits is listed at least so often, in milliseconds, also if the feed says nothing. */
const AT_LEAST_EVERY = 15_000;

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
  const often = setInterval(() => void listWaiting(), AT_LEAST_EVERY);
  until.addEventListener('abort', () => clearInterval(often));
  await follow('GET /v1/feed', { signal: until }, (items) => {
    if (items.some(({ type }) => type === 'waiting' || type === 'decided' || type === 'ended' || type === 'gap')) listSoon();
    for (const listener of listeners) listener(items);
  }).catch((error: unknown) => {
    meError.value = error;
  });
}

let soon: ReturnType<typeof setTimeout> | undefined;

function listSoon(): void {
  soon ??= setTimeout(() => {
    soon = undefined;
    void listWaiting();
  }, 150);
}

/** Lists what waits anew: the oldest deadline first, then the oldest request. */
export async function listWaiting(): Promise<void> {
  try {
    const found: Approval[] = [];
    let cursor: string | undefined;
    do {
      const page = await ask('GET /v1/approvals', { query: { limit: 200, cursor } });
      found.push(...page.approvals);
      cursor = page.next;
    } while (cursor !== undefined && found.length < 2_000);
    waiting.value = found.toSorted((one, other) => orderOf(one).localeCompare(orderOf(other)));
    waitingError.value = undefined;
  } catch (error) {
    waitingError.value = error;
  }
}

function orderOf({ deadlineAt, requestedAt }: Approval): string {
  return `${deadlineAt ?? '9'} ${requestedAt}`;
}

/** Counts the runs that were begun anew from here: their records are read from the beginning. */
export const restarts = signal(0);
