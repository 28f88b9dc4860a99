import { withoutEnd } from './text.ts';
import type { JsonValue } from '../json/json.ts';
import type { Verified } from '../record/step.ts';

/** The name of the tool through which the model gives a structured answer if the provider cannot enforce a schema. */
export const FINAL_ANSWER = 'final_answer';

/** The name of the tool through which the model runs code. */
export const RUN_CODE = 'run_code';

/**
 * The name of the call that stands for an answer which has not the form that the agent asks for. No tool has it: the call never
 * runs, and its result tells the model what is wrong.
 */
export const UNUSABLE_REPLY = 'unusable_reply';

/** The result of a call that never ran because the run was interrupted. */
export const INTERRUPTED_CALL = 'Tool call was interrupted and not executed. Please retry if needed.';

/** Returns the result of a call to a tool that the agent does not have. */
export function unknownTool(name: string): string {
  return `Tool '${name}' not found in agent's tool list`;
}

/** Returns the result of a call to a tool that is a schema alone. */
export function notExecutable(name: string): string {
  return `Tool '${name}' is not executable: nothing implements it. Go on without its result.`;
}

/** The result of a call that was running when the run was cancelled: it was told to stop, and the run did not wait for it. */
export const RUNNING_CALL = 'Tool call was running when the run was cancelled; its outcome is unknown.';

/** Returns the result of a call that no worker could make. */
export function noWorkerHas(name: string): string {
  return `Tool '${name}' is not executable: no worker has it at the moment.`;
}

/** Returns a tool result as text: its values joined by line breaks, those that are not text as JSON. */
export function resultText(content: JsonValue[]): string {
  return content.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
}

/** Returns the result of a call that may have taken effect, because its answer was lost. */
export function unknownOutcome(name: string): string {
  return `The outcome of this call of '${name}' is unknown: it was started, and its answer was lost. It may have taken effect. It was not tried again. Find out before you call it again.`;
}

/** Returns the result of a call whose answer was lost and that did not happen, as its tool reports. */
export function notHappened(name: string): string {
  return `This call of '${name}' did not happen: its answer was lost, and the tool found no effect of it. You may call it again.`;
}

/** Describes, for a person, what a tool reported about a call whose answer was lost. */
export function verifiedText({ happened, reason }: Verified): string {
  return `verified: it ${happened ? 'happened' : 'did not happen'} (its answer was lost: ${reason})`;
}

const TRY_AGAIN = '\nPlease try again.';

/** Returns the result of a call whose tool asks the model to try again. */
export function tryAgain(message: string): string {
  return `${message}${TRY_AGAIN}`;
}

/** Returns the result of a call whose tool has asked the model to try again as often as it may. */
export function noRetriesLeft(name: string, retries: number, message: string): string {
  const times = retries === 1 ? 'once' : `${retries} times`;
  const reason = withoutEnd(message.replace(TRY_AGAIN, ''), '. \t\r\n');
  return `Tool '${name}' failed, and has no retries left (it asked ${retries === 0 ? 'for none' : times}): ${reason}. Try another way.`;
}

/** Formats a number of attempts: `1 attempt`, `3 attempts`. */
export function attemptsText(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
