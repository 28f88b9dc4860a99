import { jsonBytes } from '../../core/domain/json/payload-limit.ts';
import type { Delta } from '../../core/domain/stream/delta.ts';
import type { StreamedAttempt } from '../../core/domain/stream/stream-entry.ts';
import { type IndexedDelta, partsOf, type StreamedOutput } from '../../core/domain/stream/streamed-output.ts';

/** The most bytes of JSON of the deltas in one heartbeat. The details of a tool, which travel with them, have a budget of their own. */
const MOST_BYTES = 32_000;
/** About the bytes of JSON that a text takes beside its characters, and a delta of a tool beside its data. */
const BESIDE_TEXT = 4;
const BESIDE_OTHERS = 100;

/** The newest deltas of one attempt. */
export class RecentOutput {
  readonly #of: StreamedAttempt;
  #deltas: (IndexedDelta & { bytes: number })[] = [];
  #bytes = 0;
  #next = 0;

  constructor(of: StreamedAttempt) {
    this.#of = { ...of };
  }

  /** Adds a delta, and forgets the oldest beyond the bound: all of them, if the delta alone is beyond. Throws for one that is not JSON. */
  add(index: number, delta: Delta): void {
    if (index < this.#next) return;
    // The caller may go on with the object that it gave.
    const copy = structuredClone(delta);
    const bytes = delta.type === 'data' ? jsonBytes(delta) + BESIDE_OTHERS : jsonBytes(delta.text) + this.#besideText(delta);
    this.#next = index + 1;
    this.#deltas.push({ index, delta: copy, bytes });
    this.#bytes += bytes;
    while (this.#bytes > MOST_BYTES) this.#bytes -= this.#deltas.shift()?.bytes ?? this.#bytes;
  }

  get output(): StreamedOutput {
    return { of: this.#of, next: this.#next, parts: partsOf(this.#deltas) };
  }

  /** Returns the bytes beside a text: those of a part, unless it continues the last one. */
  #besideText(delta: Exclude<Delta, { type: 'data' }>): number {
    if (this.#deltas.at(-1)?.delta.type === delta.type && delta.type !== 'tool_input') return BESIDE_TEXT;
    return BESIDE_OTHERS + (delta.type === 'tool_input' ? jsonBytes([delta.callId, delta.toolName]) : 0);
  }
}
