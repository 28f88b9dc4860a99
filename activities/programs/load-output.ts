import { jsonPiece, WHOLE_BYTES } from '../../src/core/domain/json/json-piece.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { LoadOutputInput, LoadOutputOutput } from '../../src/core/domain/program/messages.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Creates the activity that loads an output for the run itself: its value, or a piece of it if it is too long for one payload. */
export function loadOutputActivity({
  aborts,
  heartbeatMs,
  stepValues,
}: ActivityRuntime): (input: LoadOutputInput) => Promise<LoadOutputOutput> {
  return failingAs('payload_store_failed', (input) => runAttempt(aborts, { heartbeatMs }, () => loadOutput(input)));

  async function loadOutput(input: LoadOutputInput): Promise<LoadOutputOutput> {
    const value = await stepValues.stored(input, input);
    return jsonBytes(value) <= WHOLE_BYTES ? { value } : { piece: jsonPiece(value, input.from ?? 0) };
  }
}
