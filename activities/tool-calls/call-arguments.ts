import { isCodeCallId } from '../../src/core/code/code-call-ids.ts';
import { isToolCall } from '../../src/core/domain/content/content.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { type CallArgumentsQuestion, type OfRun, QUERIES, type RunToolInput } from '../../src/core/protocol.ts';
import { fetchTranscript } from '../model-calls/call-model.ts';
import { permanentFailure } from '../failures/failure.ts';
import { queryRun, runKey } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The location of a call: the offset of its event, its index in the content, the id of the event, and its own id. */
export type CallLocation = Pick<RunToolInput, 'at' | 'eventId' | 'callId'> & { rewritten?: true };

/**
 * Returns the arguments of a call as the model gave them, from the conversation; those that a hook rewrote, and those of a call of code, which is not in the
 * conversation, from the run. Fails without a retry if there is no such call.
 */
export async function callArguments(
  runtime: ActivityRuntime,
  run: OfRun,
  { at, eventId, callId, rewritten }: CallLocation,
): Promise<JsonObject> {
  if (rewritten) return queryRun<JsonObject>(run, QUERIES.callArguments, { callId } satisfies CallArgumentsQuestion);
  const [offset, index] = at;
  const event = await runtime.transcripts.event(runKey(run), { offset, id: eventId }, fetchTranscript(run));
  const item = event?.content[index];
  if (item !== undefined && isToolCall(item)) return item.arguments;
  if (event === undefined && isCodeCallId(callId))
    return queryRun<JsonObject>(run, QUERIES.callArguments, { callId } satisfies CallArgumentsQuestion);
  throw permanentFailure('internal', `Event ${offset} of the run has no tool call at ${index}`);
}
