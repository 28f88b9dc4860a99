/**
 * The places at which a run can be hit, by name. Used in the worker and inside the sandbox of its workflows: nothing
 * but text here.
 */

/** Where an activity stands. */
export type Moment =
  /** A worker has taken it, and it has done nothing yet. */
  | 'before'
  /** It has had its effect, and nobody was told. */
  | 'after'
  /** Its completion is recorded; the task of the run that reads it has not been answered. */
  | 'told';

/** The first task of the run. */
export const BEGIN = 'begin';
/** The task that ends the run. */
export const END = 'end';
/** The task that ends an execution, for the run to go on in the next. */
export const CONTINUE = 'continue-as-new';
/** The first task of such an execution. */
export const CONTINUED = 'continued';
/** The run waits for a decision, and nothing at all goes on. */
export const IDLE = 'approval wait';

/** The point at which the named execution of an activity stands so. */
export function activityPoint(moment: Moment, execution: string): string {
  return `${moment} ${execution}`;
}

/** The task that takes an Update. */
export function updatePoint(name: string): string {
  return `update ${name}`;
}

/** In the middle of a query. */
export function queryPoint(name: string): string {
  return `query ${name}`;
}

/** What an activity's input has that says which execution it is. */
interface Telling {
  callId?: string;
  through?: number;
  decision?: { callId: string };
  waiting?: { callId: string };
}

/** Names an execution of an activity: the same for every attempt, and in every run of the same conversation. */
export function executionName(activity: string, input: unknown): string {
  const { callId, through, decision, waiting } = (input ?? {}) as Telling;
  const which = callId ?? decision?.callId ?? waiting?.callId ?? through;
  return which === undefined ? activity : `${activity} ${which}`;
}
