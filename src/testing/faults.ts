import { type Duration, milliseconds } from '../core/domain/run/duration.ts';
import { UsageError } from '../core/domain/errors/error.ts';

/** Something that goes wrong around a run in a test. Made by the functions below; each has to happen, or the test fails. */
export type Fault =
  | { readonly type: 'kill_worker'; readonly afterStep: number }
  | { readonly type: 'kill_worker'; readonly tool: string; readonly step?: number }
  | { readonly type: 'drop_completion'; readonly tool: string; readonly step?: number }
  | { readonly type: 'delay'; readonly tool: string; readonly ms: number; readonly step?: number }
  | { readonly type: 'rate_limit'; readonly times: number; readonly retryAfterMs: number; readonly step?: number }
  | { readonly type: 'disconnect'; readonly afterStep: number; readonly forMs: number }
  | { readonly type: 'slow_queries'; readonly ms: number };

/** Where a tool's call is that something happens to: its first call of that step, or of the whole run. */
export interface CallPlace {
  step?: number;
}

/**
 * The worker dies and another one takes over: after a step, when the model is about to be asked for the next (0: for the
 * first); or in the middle of a call of `tool`, which has acted by then, and whose answer is lost.
 */
export function killWorker(where: { afterStep: number } | ({ tool: string } & CallPlace)): Fault {
  return 'tool' in where ? { type: 'kill_worker', ...callOf('killWorker', where) } : { type: 'kill_worker', ...where };
}

/**
 * A call of the tool runs to its end, and its completion never arrives: a call of an idempotent tool runs again, and of
 * one whose effect happens `once` nobody knows. Not for local tools, which have no completion of their own.
 */
export function dropCompletion(tool: string, place: CallPlace = {}): Fault {
  return { type: 'drop_completion', ...callOf('dropCompletion', { tool, ...place }) };
}

/** Every call of the tool (in that step, where one is named) takes so much longer. Real time, in memory too. */
export function delay(tool: string, by: Duration, place: CallPlace = {}): Fault {
  return { type: 'delay', ms: milliseconds(by, 'delay: the time'), ...callOf('delay', { tool, ...place }) };
}

/** The provider refuses the next calls of the model with 429: so many times, each asking for a wait (default 20 ms). From the named step on, else from the first. */
export function rateLimit(times: number, { retryAfter = 20, ...place }: { retryAfter?: Duration } & CallPlace = {}): Fault {
  if (!Number.isInteger(times) || times < 1) throw new UsageError(`rateLimit: the number of refusals is ${times}: write a whole number`);
  return { type: 'rate_limit', times, retryAfterMs: milliseconds(retryAfter, 'rateLimit: "retryAfter"'), ...place };
}

/** The worker loses its connection to the server after that step, for so long. Only on a server. */
export function disconnect({ afterStep, for: time }: { afterStep: number; for: Duration }): Fault {
  return { type: 'disconnect', afterStep, forMs: milliseconds(time, 'disconnect: "for"') };
}

/** The run takes so long to answer its own activities. */
export function slowQueries(by: Duration): Fault {
  return { type: 'slow_queries', ms: milliseconds(by, 'slowQueries: the time') };
}

/** What a fault is called in a message. */
export function faultText(fault: Fault): string {
  const place = 'step' in fault && fault.step !== undefined ? `, {step: ${fault.step}}` : '';
  switch (fault.type) {
    case 'kill_worker':
      return 'tool' in fault ? `killWorker({tool: "${fault.tool}"}${place})` : `killWorker({afterStep: ${fault.afterStep}})`;
    case 'drop_completion':
      return `dropCompletion("${fault.tool}"${place})`;
    case 'delay':
      return `delay("${fault.tool}", ${fault.ms}${place})`;
    case 'rate_limit':
      return `rateLimit(${fault.times}${place})`;
    case 'disconnect':
      return `disconnect({afterStep: ${fault.afterStep}, for: ${fault.forMs}})`;
    case 'slow_queries':
      return `slowQueries(${fault.ms})`;
  }
}

function callOf(owner: string, { tool, step }: { tool: string } & CallPlace): { tool: string; step?: number } {
  if (typeof tool !== 'string' || tool === '') throw new UsageError(`${owner}: write the name of a tool`);
  return { tool, ...(step === undefined ? {} : { step }) };
}
