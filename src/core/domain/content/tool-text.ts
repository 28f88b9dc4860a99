import type { JsonValue } from '../json/json.ts';
import type { Verified } from '../record/step.ts';

/** The name of the tool through which a structured answer comes where the provider cannot enforce a schema. */
export const FINAL_ANSWER = 'final_answer';

/** What a call is answered with that never ran because the run was interrupted (seed 002). */
export const INTERRUPTED_CALL = 'Tool call was interrupted and not executed. Please retry if needed.';

/** What a call to a tool is answered with that the agent does not have (seed 001). */
export function unknownTool(name: string): string {
  return `Tool '${name}' not found in agent's tool list`;
}

/** What a call is answered with that had started when the run was cancelled: it was told to stop, and not waited for. */
export const RUNNING_CALL = 'Tool call was running when the run was cancelled; its outcome is unknown.';

/** What a call is answered with that no worker could make. */
export function noWorkerHas(name: string): string {
  return `Tool '${name}' is not executable: no worker has it at the moment.`;
}

/** A tool result as text (seed 001): values joined by line breaks, those that are not text as JSON. */
export function resultText(content: JsonValue[]): string {
  return content.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
}

/** What a call is answered with that may have taken effect, and nobody knows. */
export function unknownOutcome(name: string): string {
  return `The outcome of this call of '${name}' is unknown: it was started, and its answer was lost. It may have taken effect. It was not tried again. Find out before you call it again.`;
}

/** What a call is answered with whose answer was lost, and which the tool says did not happen. */
export function notHappened(name: string): string {
  return `This call of '${name}' did not happen: its answer was lost, and the tool found no effect of it. You may call it again.`;
}

/** What people read of a call whose tool was asked what became of it. */
export function verifiedText({ happened, reason }: Verified): string {
  return `verified: it ${happened ? 'happened' : 'did not happen'} (its answer was lost: ${reason})`;
}

const TRY_AGAIN = '\nPlease try again.';

/** What a call is answered with whose tool asks the model to try again. */
export function tryAgain(message: string): string {
  return `${message}${TRY_AGAIN}`;
}

/** What a call is answered with whose tool has asked the model to try again as often as it may. */
export function noRetriesLeft(name: string, retries: number, message: string): string {
  const times = retries === 1 ? 'once' : `${retries} times`;
  const said = message.replace(TRY_AGAIN, '').replace(/[.\s]+$/, '');
  return `Tool '${name}' failed, and has no retries left (it asked ${retries === 0 ? 'for none' : times}): ${said}. Try another way.`;
}

/** `1 attempt`, `3 attempts`. */
export function attemptsText(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
