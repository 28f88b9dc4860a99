import type { ErrorCode } from '../domain/errors.ts';
import type { Inbox } from '../loop/state/inbox.ts';
import type { Principal } from '../domain/run.ts';
import type { RunState } from '../loop/state/run-state.ts';
import type { SessionKind } from '../domain/run-input.ts';

/**
 * The requests that a run accepts from callers, and their effects. The handlers of the workflow use them, and so does the client
 * when it reads a run back from its history, so that both get the same result.
 */

/** The part of a run that receives requests. */
export interface MessageReceiver {
  readonly runId: string;
  readonly inbox: Inbox;
  /** Undefined until the agent is resolved. */
  readonly state?: RunState;
  /** Whom the run acts for, before it has a state. */
  readonly principal?: Principal;
  /** The kind of session that the run begins as, before it has a state. Absent for a run that ends with its answer. */
  readonly opensAs?: SessionKind;
}

/** The reason for refusing a request. */
export interface Refusal {
  code: ErrorCode;
  message: string;
}

/** The source and the time of a request. */
export interface InboundMessage {
  source: 'update' | 'signal';
  /** Milliseconds since the epoch. */
  now: number;
}

/** The checks and the effect of one kind of request. */
export interface RequestKind<Input, Receipt> {
  /** Description for a person who sends the request from the Temporal UI. */
  readonly description: string;
  /** Returns why the request is refused; undefined if it is accepted. `now` is in milliseconds since the epoch. Must not change anything, and never throws. */
  refusal(run: MessageReceiver, input: unknown, now: number): Refusal | undefined;
  /** Accepts a request that was not refused: stores it for the loop and returns at once. */
  take(run: MessageReceiver, input: Input, arrival: InboundMessage): Receipt;
}

/** Returns why a run accepts no requests at the moment, or no more at all; undefined if it accepts them. */
export function unavailable(run: MessageReceiver, about: Parameters<Inbox['isBusy']>[0]): Refusal | undefined {
  if (run.inbox.closed || !run.inbox.isBusy(about)) return ended(run);
  return { code: 'busy', message: `Run "${run.runId}" accepts no requests until it has continued as new: send it again in a moment` };
}

/** Returns the refusal of a run that has ended; undefined for one that goes on. */
export function ended({ runId, inbox }: MessageReceiver): Refusal | undefined {
  return inbox.closed ? { code: 'run_ended', message: `Run "${runId}" has ended: start a new one` } : undefined;
}

/** Returns why a run has no room for one more request; undefined if it has. There is room again once the loop has applied the others. */
export function noRoomForRequest(request: unknown, { runId, inbox }: MessageReceiver): Refusal | undefined {
  if (inbox.hasRoomForRequest(request)) return undefined;
  return { code: 'busy', message: `Run "${runId}" has not applied the requests before this one yet: send it again in a moment` };
}

/** Returns the refusal of a request that does not have the expected shape. */
export function invalidRequest({ runId }: MessageReceiver, request: string, problem: string): Refusal {
  return { code: 'invalid_input', message: `Run "${runId}" refused "${request}": ${problem}` };
}
