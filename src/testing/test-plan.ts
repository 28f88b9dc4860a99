import type { RunHandle } from '../client/run-handle.ts';
import type { ApprovalView, Remember } from '../core/domain/approvals.ts';
import type { ContentPart, MessageMode } from '../core/domain/content.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { type LimitOptions, plainLimits } from '../core/domain/limits.ts';
import { unknownField } from '../core/domain/text.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import type { OptionTable } from '../define/option-checks.ts';
import type { RaiseInput, SendInput, UPDATES } from '../core/protocol.ts';

/** The decision of a test about a pending call, question or limit. */
export type TestDecision =
  | { readonly type: 'approve'; readonly arguments?: JsonObject; readonly remember?: Remember; readonly by?: string }
  | { readonly type: 'reject'; readonly reason?: string; readonly remember?: Remember; readonly by?: string }
  | { readonly type: 'respond'; readonly content: JsonValue; readonly by?: string };

/** One pending decision: about a call, a question, a limit, or the outcome of a call that was lost. */
export interface Waiting extends ApprovalView {
  /** Why the run refused the test's earlier decision. */
  refused?: { code: string; message: string };
}

/**
 * Called once for each pending decision, in order, when the run cannot continue without one. If it returns undefined,
 * the decision stays pending until its deadline or an event of `meanwhile`.
 */
export type Decide = (waiting: Waiting) => TestDecision | undefined | Promise<TestDecision | undefined>;

/** The fields of each decision. The compiler reports a missing and an unknown one. */
const DECISION_FIELDS: { [Type in TestDecision['type']]: OptionTable<Extract<TestDecision, { type: Type }>> } = {
  approve: { type: true, arguments: true, remember: true, by: true },
  reject: { type: true, reason: true, remember: true, by: true },
  respond: { type: true, content: true, by: true },
};

/** Throws a UsageError unless a test has returned a decision or nothing. An ignored field would make the test pass for the wrong reason. */
export function checkDecision({ toolName, callId }: Waiting, decision: unknown): asserts decision is TestDecision | undefined {
  if (decision === undefined) return;
  const owner = `What "decide" returned about "${toolName}" (call "${callId}")`;
  const { type } = isObject(decision) ? decision : {};
  if (!isObject(decision) || typeof type !== 'string' || !Object.hasOwn(DECISION_FIELDS, type)) {
    throw new UsageError(`${owner} is ${JSON.stringify(decision)}: return approve(), reject(), respond() or undefined`);
  }
  const problem = unknownField(decision, DECISION_FIELDS[type as TestDecision['type']]);
  if (problem !== undefined) throw new UsageError(`${owner} has an ${problem}`);
}

function isObject(value: unknown): value is { type?: unknown } {
  return typeof value === 'object' && value !== null;
}

/** Approves a call or raised limits; `arguments` replace those of the pending call. */
export function approve(more: { arguments?: JsonObject; remember?: Remember; by?: string } = {}): TestDecision {
  return { type: 'approve', ...more };
}

/** Rejects a call. The model reads the reason. */
export function reject(reason?: string, more: { remember?: Remember; by?: string } = {}): TestDecision {
  return { type: 'reject', ...defined({ reason }), ...more };
}

/** Answers a call in place of the tool. */
export function respond(content: JsonValue, more: { by?: string } = {}): TestDecision {
  return { type: 'respond', content, ...more };
}

/** One planned fault of a test, created by the functions below. A test fails if a planned fault does not happen. */
export type Fault =
  | { readonly type: 'kill_worker'; readonly afterStep: number }
  | { readonly type: 'kill_worker'; readonly tool: string; readonly step?: number }
  | { readonly type: 'drop_completion'; readonly tool: string; readonly step?: number }
  | { readonly type: 'delay'; readonly tool: string; readonly ms: number; readonly step?: number }
  | { readonly type: 'rate_limit'; readonly times: number; readonly retryAfterMs: number; readonly step?: number }
  | { readonly type: 'disconnect'; readonly afterStep: number; readonly forMs: number }
  | { readonly type: 'slow_queries'; readonly ms: number };

/** Selects a call of a tool: the first in this step, or in the whole run. */
export interface CallPosition {
  /** The step of the call, from 1. */
  step?: number;
}

/**
 * Kills the worker and starts another one: after a step, before the model is called for the next one (0: before the
 * first), or during a call of `tool`, which has taken effect by then but whose answer is lost.
 */
export function killWorker(where: { afterStep: number } | ({ tool: string } & CallPosition)): Fault {
  return 'tool' in where ? { type: 'kill_worker', ...callOf('killWorker', where) } : { type: 'kill_worker', ...where };
}

/**
 * Loses the completion of a call that has run to its end. A call of an idempotent tool runs again; the outcome of a
 * tool with `once` effects is unknown. Not for local tools, which have no separate completion.
 */
export function dropCompletion(tool: string, position: CallPosition = {}): Fault {
  return { type: 'drop_completion', ...callOf('dropCompletion', { tool, ...position }) };
}

/** Delays every call of the tool (in the given step, if any), in real time even in memory. */
export function delay(tool: string, by: Duration, position: CallPosition = {}): Fault {
  return { type: 'delay', ms: milliseconds(by, 'delay: the time'), ...callOf('delay', { tool, ...position }) };
}

/**
 * Makes the provider refuse the next `times` model calls with 429, each with a wait (default 20 ms). Begins at
 * the given step, or at the first.
 */
export function rateLimit(times: number, { retryAfter = 20, ...position }: { retryAfter?: Duration } & CallPosition = {}): Fault {
  if (!Number.isInteger(times) || times < 1) throw new UsageError(`rateLimit: the number of refusals is ${times}: write a whole number`);
  return { type: 'rate_limit', times, retryAfterMs: milliseconds(retryAfter, 'rateLimit: "retryAfter"'), ...position };
}

/** Disconnects the worker from the server after this step for the given time. Only on a server. */
export function disconnect({ afterStep, for: time }: { afterStep: number; for: Duration }): Fault {
  return { type: 'disconnect', afterStep, forMs: milliseconds(time, 'disconnect: "for"') };
}

/** Delays every answer of the run to queries of its activities. */
export function slowQueries(by: Duration): Fault {
  return { type: 'slow_queries', ms: milliseconds(by, 'slowQueries: the time') };
}

/** Returns the source text of the call that creates a fault, for messages. */
export function faultText(fault: Fault): string {
  const step = 'step' in fault && fault.step !== undefined ? `, {step: ${fault.step}}` : '';
  switch (fault.type) {
    case 'kill_worker':
      return 'tool' in fault ? `killWorker({tool: "${fault.tool}"}${step})` : `killWorker({afterStep: ${fault.afterStep}})`;
    case 'drop_completion':
      return `dropCompletion("${fault.tool}"${step})`;
    case 'delay':
      return `delay("${fault.tool}", ${fault.ms}${step})`;
    case 'rate_limit':
      return `rateLimit(${fault.times}${step})`;
    case 'disconnect':
      return `disconnect({afterStep: ${fault.afterStep}, for: ${fault.forMs}})`;
    case 'slow_queries':
      return `slowQueries(${fault.ms})`;
  }
}

function callOf(owner: string, { tool, step }: { tool: string } & CallPosition): { tool: string; step?: number } {
  if (typeof tool !== 'string' || tool === '') throw new UsageError(`${owner}: write the name of a tool`);
  return { tool, ...defined({ step }) };
}

/**
 * The time at which a test acts on a run: while the model is called for that step (1-based); with `tool`, while the
 * first call of the tool in that step runs; with `waiting`, while such a call waits for a decision and nothing else
 * is running.
 */
export interface Moment {
  /** The step in which the action happens, from 1. */
  step: number;
  /** The tool whose call is running. */
  tool?: string;
  /** While a call waits for a person. */
  waiting?: string;
}

/** A run in memory, which follows the rules of the workflow's handlers. */
export interface RunInMemory {
  /** The id of the run. */
  readonly runId: string;
  /** Sends an Update. Throws the error of a client if the run refuses it. */
  update(name: keyof typeof UPDATES, input: object): void;
  /** Cancels the run, as a client does. */
  cancel(reason: string): void;
}

/**
 * One planned action on a running run, created by the functions below. A test fails if a planned action does not
 * happen.
 */
export interface Occurrence {
  /** When it happens. */
  readonly at: Moment;
  /** The name of the function that plans it, and its argument without the moment. */
  readonly written: readonly [name: string, argument: unknown];
  /** The first word of its id. Absent: it has no id. */
  readonly idWord?: string;
  /** What the run gives up for it: its model call, or everything that it waits for. */
  readonly givesUp?: 'model call' | 'all';
  /** Sends it to a run on a server, like any other client. */
  readonly onServer: (run: RunHandle<unknown>, id: string) => Promise<unknown>;
  /** Sends it to a run of `testAgent`. */
  readonly inMemory: (run: RunInMemory, id: string) => void;
}

/** Sends a message to the run: `queue` (default), `steer` or `interrupt`. */
export function sendMessage(content: string | ContentPart[], { mode = 'queue', ...at }: Moment & { mode?: MessageMode }): Occurrence {
  return {
    at,
    written: ['sendMessage', content],
    idWord: 'message',
    ...(mode === 'interrupt' ? { givesUp: 'model call' as const } : {}),
    onServer: (run, id) => run.send(content, { id, mode }),
    inMemory: (run, id) => run.update('send', { id, content, mode } satisfies SendInput),
  };
}

/** Cancels the run. */
export function cancelRun(reason: string, at: Moment): Occurrence {
  return {
    at,
    written: ['cancelRun', reason],
    givesUp: 'all',
    onServer: (run) => run.cancel(reason),
    inMemory: (run) => run.cancel(reason),
  };
}

/** Raises limits of the run. */
export function raiseLimits(limits: LimitOptions, at: Moment): Occurrence {
  return {
    at,
    written: ['raiseLimits', limits],
    idWord: 'raise',
    onServer: (run, id) => run.raise(limits, { id }),
    inMemory: (run, id) => run.update('raise', { id, limits: plainLimits('raise', limits) } satisfies RaiseInput),
  };
}

/** Returns the source text of the call that creates an occurrence, for messages. */
export function occurrenceText(occurrence: Occurrence): string {
  const { step, tool, waiting } = occurrence.at;
  const moment = `{step: ${step}${tool === undefined ? '' : `, tool: "${tool}"`}${waiting === undefined ? '' : `, waiting: "${waiting}"`}}`;
  const [name, argument] = occurrence.written;
  return `${name}(${JSON.stringify(argument)}, ${moment})`;
}
