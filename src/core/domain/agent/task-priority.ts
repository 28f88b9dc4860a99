import { utf8Length } from '../content/text.ts';

/** Bytes of a fairness key that the server accepts. */
const FAIRNESS_KEY_BYTES = 64;

/** The order of a run's tasks in a task queue with a backlog, in Temporal's terms. */
export interface TaskPriority {
  priorityKey?: number;
  fairnessKey?: string;
}

/** Describes the problem of a priority or a fairness key; undefined if there is none. */
export function priorityProblem(priority: unknown, fairnessKey: unknown): string | undefined {
  if (priority !== undefined && !(Number.isInteger(priority) && Number(priority) >= 1 && Number(priority) < 2 ** 31)) {
    return `"priority" is ${JSON.stringify(priority)}: write a whole number of at least 1; lower ones go first`;
  }
  if (fairnessKey === undefined) return undefined;
  if (typeof fairnessKey === 'string' && fairnessKey !== '' && utf8Length(fairnessKey) <= FAIRNESS_KEY_BYTES) return undefined;
  return `"fairnessKey" is ${JSON.stringify(fairnessKey)}: write a text of at most ${FAIRNESS_KEY_BYTES} bytes`;
}

/** Combines a priority and a fairness key; undefined if both are undefined. */
export function priorityFrom(priority: number | undefined, fairnessKey: string | undefined): TaskPriority | undefined {
  if (priority === undefined && fairnessKey === undefined) return undefined;
  return { ...(priority === undefined ? {} : { priorityKey: priority }), ...(fairnessKey === undefined ? {} : { fairnessKey }) };
}
