import type { StoredEntry } from '../../../src/core/bursts/burst.ts';

/** The points where a run can be hit, by name. Used in the worker and inside the sandbox of its workflows: only text here. */

/** The moment of an activity. */
export type Moment =
  /** A worker has taken it, and it has done nothing yet. */
  | 'before'
  /** The first of its models has failed, and the next one has not been asked. */
  | 'between'
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
/** The run waits for a decision, and nothing else is in progress. */
export const IDLE = 'approval wait';
/** A session sleeps between two turns. */
export const ASLEEP = 'asleep';
/** The kill itself: no point, but recorded among them. */
export const KILLED = 'killed';

/** Milliseconds after which a workflow task whose worker has died is given to another one. */
export const TASK_TIMEOUT_MS = 2_000;

/** The point of an activity at this moment. */
export function activityPoint(moment: Moment, execution: string): string {
  return `${moment} ${execution}`;
}

const STORED = 'stored ';

/** The server has stored the outcomes of a burst up to one of them, and its worker does not know it yet. Undefined without outcomes. */
export function storedPoint(details: Uint8Array): string | undefined {
  const { record } = JSON.parse(new TextDecoder().decode(details)) as { record?: { entries: StoredEntry[] } };
  const [, last] = record?.entries.at(-1) ?? [];
  return last === undefined ? undefined : `${STORED}${last}`;
}

/** True for the point of a checkpoint. */
export function isStored(point: string): boolean {
  return point.startsWith(STORED);
}

/** True for the beginning of a call inside a burst, which has waited for a checkpoint. */
export function isCallInside(point = ''): boolean {
  return point.startsWith('before ') && !point.includes('runBurst');
}

/** The workflow task that accepts an Update. Messages have separate ids. */
export function updatePoint(name: string, input: unknown): string {
  const { id } = (input ?? {}) as { id?: string };
  return name === 'send' && id !== undefined ? `update ${name} ${id}` : `update ${name}`;
}

/** During a query. */
export function queryPoint(name: string): string {
  return `query ${name}`;
}

/** The workflow task that starts a timer. */
export function timerPoint(summary: string): string {
  return `timer ${summary}`;
}

/** The workflow task that takes a Signal. */
export function signalPoint(name: string): string {
  return `signal ${name}`;
}

/** The end of the id of a run that a tool call has started: it is another one in each run. */
const RANDOM_PART = /\.[0-9a-f]{8}$/;

/** Names a point of a run by the run at the top of it: a child is named by the steps or the tool calls that have started it. */
export function ofTopRun(workflowId: string, point: string): { runId: string; path: string; point: string } {
  const [runId = '', ...steps] = workflowId.split('/');
  const path = steps.map((step) => step.replace(RANDOM_PART, '')).join('/');
  return { runId, path, point: path === '' ? point : `${path}: ${point}` };
}

/** The fields of an activity's input that identify the execution of the activity. */
interface Telling {
  callId?: string;
  through?: number;
  step?: string;
  attempt?: number;
  segment?: number;
  runId?: string;
  decision?: { callId: string };
  waiting?: { callId: string };
}

/** Names an execution of an activity: the same name for every attempt, and in every run of the same conversation. */
export function executionName(activity: string, input: unknown): string {
  const { callId, through, decision, waiting, step, attempt, segment, runId } = (input ?? {}) as Telling;
  const ofStep = attempt === undefined ? step : `${step} #${attempt}`;
  const which = callId ?? decision?.callId ?? waiting?.callId ?? through ?? ofStep ?? (runId && ofTopRun(runId, '').path);
  const part = segment === undefined ? '' : ` #${segment}`;
  return which === undefined ? activity : `${activity} ${which}${part}`;
}
