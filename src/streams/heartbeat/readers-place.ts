import { deltasOf, type StreamedOutput } from '../../core/domain/stream/streamed-output.ts';
import type { StreamRead } from '../stream-sink.ts';
import { attemptKey, type SeenAttempts, writePosition } from './heartbeat-position.ts';

/** The most attempts that are remembered after they are in flight no more. */
const MOST_ENDED = 100;

/** The place of a reader in the output of all calls of a run. */
export class ReadersPlace {
  readonly #runId: string;
  readonly #seen: SeenAttempts;
  /** A heartbeat without output may follow one with it: then the attempt comes back. */
  readonly #ended: SeenAttempts = new Map();

  constructor(runId: string, seen: SeenAttempts) {
    this.#runId = runId;
    this.#seen = seen;
  }

  get position(): string {
    return writePosition(this.#seen);
  }

  /** Forgets the attempts that are in flight no more. Returns true if there are any. */
  forgetEnded(outputs: readonly StreamedOutput[]): boolean {
    const inFlight = new Set(outputs.map(({ of }) => attemptKey(this.#runId, of)));
    const ended = [...this.#seen].filter(([key]) => !inFlight.has(key));
    for (const [key, next] of ended) {
      this.#seen.delete(key);
      this.#ended.set(key, next);
    }
    for (const key of this.#ended.keys()) {
      if (this.#ended.size <= MOST_ENDED) break;
      this.#ended.delete(key);
    }
    return ended.length > 0;
  }

  /** Yields the part of an output that the reader has not seen. */
  *read(output: StreamedOutput): Generator<StreamRead> {
    const { of } = output;
    const key = attemptKey(this.#runId, of);
    const at = (index: number): string => {
      this.#seen.set(key, index);
      return this.position;
    };
    let next = this.#seen.get(key) ?? this.#ended.get(key);
    if (next === undefined) {
      next = 0;
      yield { type: 'entry', position: at(0), entry: { type: 'attempt', of } };
    }
    at(next);
    for (const { index, delta } of deltasOf(output)) {
      if (index < next) continue;
      if (index > next) yield { type: 'lost', position: at(index) };
      next = index + 1;
      yield { type: 'entry', position: at(next), entry: { type: 'delta', of, index, delta } };
    }
    if (output.next > next) yield { type: 'lost', position: at(output.next) };
  }
}
