import type { StreamItem } from '../../src/client/index.ts';
import type { Random } from '../crash/runs/random-kills.ts';
import { type ErrorEvent, EventSource } from 'eventsource';

/** The items that a reader of a run has got, from the beginning to the end. */
export interface Reading {
  /** The reader, for messages. */
  reader: string;
  items: readonly StreamItem[];
  cuts: number;
  problem?: string | undefined;
}

/** The most items that a reader which moves on reads at one place. */
const MOST = 60;

/** A run, the service, and the signal that makes its readers give up. */
interface Followed {
  url: string;
  runId: string;
  signal: AbortSignal;
}

/** Follows a run to its end with one reader. */
export async function stay({ url, runId, signal }: Followed): Promise<Reading> {
  const run = new FollowedRun(url, runId);
  await overWithin(run, signal);
  return { reader: 'the reader that stays', items: run.items, cuts: run.cuts, problem: run.problem };
}

/** Follows a run to its end with one reader after the other: each begins at the cursor of the last item of the one before, at any instance. */
export async function moveOn({ runId, signal }: Followed, urls: readonly string[], random: Random): Promise<Reading & { moves: number }> {
  const items: StreamItem[] = [];
  let cuts = 0;
  for (let moves = 0; ; moves += 1) {
    const most = 1 + Math.floor(random() * MOST);
    const url = urls[Math.floor(random() * urls.length)] ?? '';
    const run = new FollowedRun(url, runId, { cursor: items.at(-1)?.cursor, most });
    await overWithin(run, signal);
    items.push(...run.items);
    cuts += run.cuts;
    const { problem } = run;
    const isOver = run.items.length === 0 || items.at(-1)?.type === 'end' || problem !== undefined || signal.aborted;
    if (isOver) return { reader: 'the reader that moves on', items, cuts, problem, moves };
  }
}

/** Reads a run again from an item of a reading on, at an instance, and returns both parts as one reading. */
export async function goOn({ url, runId, signal }: Followed, { items }: Reading, index: number): Promise<Reading> {
  const run = new FollowedRun(url, runId, { cursor: items[index]?.cursor });
  await overWithin(run, signal);
  const spliced = [...items.slice(0, index + 1), ...run.items];
  return { reader: `the reader that goes on behind item ${index}`, items: spliced, cuts: run.cuts, problem: run.problem };
}

async function overWithin(run: FollowedRun, signal: AbortSignal): Promise<void> {
  const close = (): void => run.close();
  if (signal.aborted) close();
  signal.addEventListener('abort', close, { once: true });
  await run.over;
  signal.removeEventListener('abort', close);
}

const TYPES: Record<StreamItem['type'], true> = {
  event: true,
  step: true,
  delta: true,
  reset: true,
  gap: true,
  status: true,
  end: true,
};

/** Where a reader begins, and where it stops. */
interface Stretch {
  /** The cursor of the item that it begins after. */
  cursor?: string | undefined;
  /** The most items that it reads. */
  most?: number;
}

/** The stream of a run as a page follows it, with an `EventSource` that comes back by itself. */
class FollowedRun {
  readonly items: StreamItem[] = [];
  /** The number of times that the stream was cut, or could not be opened. */
  cuts = 0;
  /** The reason why the stream can no longer be followed. */
  problem: string | undefined;
  /** Resolves at `end`, at the most items, when there is nothing more, or when it has a problem or is closed. */
  readonly over: Promise<void>;
  readonly #source: EventSource;
  #resolve = (): void => undefined;

  /** `url`: the service. */
  constructor(url: string, runId: string, { cursor, most = Infinity }: Stretch = {}) {
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    this.#source = new EventSource(`${url}/v1/runs/${encodeURIComponent(runId)}/stream${query}`);
    for (const type of Object.keys(TYPES)) {
      this.#source.addEventListener(type, ({ data, lastEventId }: MessageEvent) => {
        // Items that have arrived with the last of them are not read.
        if (this.items.length >= most || this.#source.readyState === this.#source.CLOSED) return;
        this.items.push({ ...(JSON.parse(String(data)) as StreamItem), cursor: lastEventId });
        if (type === 'end' || this.items.length >= most) this.close();
      });
    }
    this.#source.addEventListener('problem', ({ data }: MessageEvent) => this.#fail(`it ended with the problem ${String(data)}`));
    this.#source.addEventListener('error', (error) => this.#cut(error));
  }

  close(): void {
    this.#source.close();
    this.#resolve();
  }

  #cut({ code, message }: ErrorEvent): void {
    if (this.#source.readyState !== this.#source.CLOSED) this.cuts += 1;
    else if (code === 204) this.close();
    else this.#fail(`its reader gave up: ${message ?? `status ${String(code)}`}`);
  }

  #fail(problem: string): void {
    this.problem = problem;
    this.close();
  }
}
