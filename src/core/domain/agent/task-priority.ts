import { utf8Length } from '../content/text.ts';

/** What the server takes. */
const FAIRNESS_KEY_BYTES = 64;

/** How tasks of a run go where a task queue has a backlog, in the words of Temporal. */
export interface TaskPriority {
  priorityKey?: number;
  fairnessKey?: string;
}

/** What is wrong with a priority and a fairness key; undefined where nothing is. */
export function priorityProblem(priority: unknown, fairnessKey: unknown): string | undefined {
  if (priority !== undefined && !(Number.isInteger(priority) && Number(priority) >= 1 && Number(priority) < 2 ** 31)) {
    return `"priority" is ${JSON.stringify(priority)}: write a whole number of at least 1; lower ones go first`;
  }
  if (fairnessKey === undefined) return undefined;
  if (typeof fairnessKey === 'string' && fairnessKey !== '' && utf8Length(fairnessKey) <= FAIRNESS_KEY_BYTES) return undefined;
  return `"fairnessKey" is ${JSON.stringify(fairnessKey)}: write a text of at most ${FAIRNESS_KEY_BYTES} bytes`;
}

/** Both, as far as they are given; undefined where neither is. */
export function priorityFrom(priority: number | undefined, fairnessKey: string | undefined): TaskPriority | undefined {
  if (priority === undefined && fairnessKey === undefined) return undefined;
  return { ...(priority === undefined ? {} : { priorityKey: priority }), ...(fairnessKey === undefined ? {} : { fairnessKey }) };
}
