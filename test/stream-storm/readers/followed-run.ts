import { type ErrorEvent, EventSource } from 'eventsource';
import type { StreamItem } from '../../../src/client/index.ts';

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
export interface Stretch {
  /** The cursor of the item that it begins after. */
  cursor?: string | undefined;
  /** The most items that it reads. */
  most?: number;
}

/** The stream of a run as a page follows it, with an `EventSource` that comes back by itself. */
export class FollowedRun {
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
