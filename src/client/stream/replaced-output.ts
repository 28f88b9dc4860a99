import { errorCode } from '../../core/domain/errors.ts';
import { endsModelCall, type Event } from '../../core/domain/record.ts';
import { isEarlierAttempt, type StreamedAttempt } from '../../core/domain/stream.ts';
import type { RecordPages, RecordPlace } from './record-pages.ts';

/** The newest calls and responses that are known. Output of older ones is known to be replaced by its place in the record. */
const MOST_KNOWN = 2_000;

/** Knows which live output the record has replaced, and which attempts later ones have. */
export class ReplacedOutput {
  /** Offsets of the ends of model calls, in ascending order. */
  #modelCalls: number[] = [];
  /** Offsets of the results of calls, by the ids of the calls, and of the answers of steps of programs, by the ids of their events. */
  readonly #results = new Map<string, number>();
  readonly #answers = new Map<string, number>();
  /** Offsets of the ends of steps of programs, by their addresses: of an attempt that has failed, no event has the id. */
  readonly #ends = new Map<string, number>();
  readonly #newest = new Map<string, StreamedAttempt>();

  /** Notes an event of the record. */
  recorded(offset: number, event: Event): void {
    const { id, content, step } = event;
    if (endsModelCall(event)) this.#modelCalls = [...this.#modelCalls, offset].toSorted((one, other) => one - other).slice(-MOST_KNOWN);
    if (step !== undefined) put(this.#answers, id, offset);
    if (step?.type === 'end') put(this.#ends, step.at, offset);
    for (const item of content) if (item.type === 'tool_result') put(this.#results, item.toolCallId, offset);
  }

  /**
   * Notes the events of the record from one offset to another. True if there are that many
   * events, and the server has them.
   */
  async read(pages: Pick<RecordPages, 'shared'>, { offset, step }: RecordPlace, until: number): Promise<boolean> {
    try {
      for (let next = offset; next < until;) {
        const { events } = await pages.shared({ offset: next, step });
        if (events.length === 0) return false;
        for (const [index, event] of events.entries()) this.recorded(next + index, event);
        next += events.length;
      }
      return true;
    } catch (error) {
      if (errorCode(error) !== 'history_removed') throw error;
      return false;
    }
  }

  /** Returns the offset of the event that has replaced the output of an attempt; undefined if there is none so far. */
  offsetOf({ callId, eventId, through }: StreamedAttempt): number | undefined {
    if (through === undefined) return this.#answers.get(eventId) ?? this.#ends.get(callId ?? '');
    // An agent makes one model call at a time: the first one that ends is that one, and any of its attempts may have answered.
    return callId === undefined ? this.#modelCalls.find((offset) => offset >= through) : this.#results.get(callId);
  }

  /** Notes output of an attempt. True if it is that of the newest attempt of its call, and the record has not replaced it. */
  isLive(of: StreamedAttempt): boolean {
    const call = of.callId ?? '';
    const newest = this.#newest.get(call);
    if (newest !== undefined && newest.executionId === of.executionId && isEarlierAttempt(of, newest)) return false;
    // An attempt that has answered takes back what the one before it has shown.
    const takesBack = newest !== undefined && newest.eventId !== of.eventId && this.offsetOf(newest) === undefined;
    put(this.#newest, call, of);
    return takesBack || this.offsetOf(of) === undefined;
  }
}

/** Sets an entry as the newest one, and drops the oldest beyond the bound. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_KNOWN && oldest !== undefined) map.delete(oldest);
}
