import { MAX_JSON_DEPTH } from '../../src/core/domain/json/json-depth.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { StreamedAttempt } from '../../src/core/domain/stream/stream-entry.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import type { RunToolInput } from '../../src/core/protocol.ts';
import type { Attempt } from '../attempts/attempt.ts';
import { type ActivityOfStream, currentAttempt, streamingActivity } from '../attempts/streams/streaming-activity.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The most characters of the name of data, and the most bytes of its JSON. */
const MAX_NAME_LENGTH = 100;
const MAX_BYTES = 32_000;

/** Publishes the data that one attempt of a tool call emits. None of it enters history. */
export class ToolStream {
  readonly #runtime: ActivityRuntime;
  readonly #callId: string;
  /** Absent if the run has no readers. */
  readonly #activity: ActivityOfStream | undefined;
  readonly #of: StreamedAttempt;
  #index = 0;
  #isEnded = false;

  constructor(runtime: ActivityRuntime, input: RunToolInput, attempt: Pick<Attempt, 'stream'>) {
    const { eventId, callId, at } = input;
    this.#runtime = runtime;
    this.#callId = callId;
    this.#activity = streamingActivity(runtime, input, attempt);
    this.#of = { eventId, callId, through: at[0] + 1, ...currentAttempt() };
  }

  /** Publishes data. Throws a TypeError for data that cannot be carried, also if the worker has no sink. */
  emit(name: string, data: JsonValue): void {
    if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME_LENGTH)
      throw new TypeError(`emit: the name of the data must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
    const plain = cleanJson(data);
    if (plain === undefined) {
      throw new TypeError(
        `emit: the data "${name}" is not JSON: emit plain values without a BigInt or a circular reference, at most ${MAX_JSON_DEPTH} levels deep`,
      );
    }
    const bytes = jsonBytes(plain);
    if (bytes > MAX_BYTES) throw new TypeError(`emit: the data "${name}" is ${bytes} bytes of JSON, over ${MAX_BYTES}: emit a part of it`);
    if (this.#isEnded || this.#activity === undefined) return;
    const { secrets } = this.#runtime;
    const redacted = secrets.redactJson(plain);
    const delta = { type: 'data' as const, callId: this.#callId, name: secrets.redact(name.toWellFormed()), data: redacted };
    this.#activity.publish({ type: 'delta', of: this.#of, index: this.#index++, delta });
  }

  /** Ends the stream with the attempt: the result takes the place of everything that was emitted. */
  end(): void {
    this.#isEnded = true;
  }
}
