/** The points at which a run can be hit, by name. Used in the worker and inside the sandbox of its workflows: only text here. */

/** The moment of an activity. */
export type Moment =
  /** A worker has taken it, and it has done nothing yet. */
  | 'before'
  /** It has had its effect, and has not reported it. */
  | 'after'
  /** Its completion is recorded; the workflow task that reads it has not been answered. */
  | 'told';

/** The first workflow task of the run. */
export const BEGIN = 'begin';
/** The workflow task that ends the run. */
export const END = 'end';
/** The workflow task that continues the run as new. */
export const CONTINUE = 'continue-as-new';
/** The first workflow task of the next execution. */
export const CONTINUED = 'continued';
/** The run waits for a decision, and nothing else goes on. */
export const IDLE = 'approval wait';

/** The point at which an activity is at this moment. */
export function activityPoint(moment: Moment, execution: string): string {
  return `${moment} ${execution}`;
}

/** The workflow task that accepts an Update. */
export function updatePoint(name: string): string {
  return `update ${name}`;
}

/** During a query. */
export function queryPoint(name: string): string {
  return `query ${name}`;
}

/** The fields of an activity's input that identify the execution of the activity. */
interface Telling {
  callId?: string;
  through?: number;
  decision?: { callId: string };
  waiting?: { callId: string };
}

/** Names an execution of an activity: the same name for every attempt, and in every run of the same conversation. */
export function executionName(activity: string, input: unknown): string {
  const { callId, through, decision, waiting } = (input ?? {}) as Telling;
  const which = callId ?? decision?.callId ?? waiting?.callId ?? through;
  return which === undefined ? activity : `${activity} ${which}`;
}
