import type { ErrorCode } from '../domain/errors/error.ts';
import type { Inbox } from '../loop/state/inbox.ts';
import type { RunState } from '../loop/state/run-state.ts';

/**
 * What comes to a running run from outside, and what a run makes of it. Used where a run happens (the handlers of its
 * workflow) and where it is read back from its history (the client), so that both come to the same.
 */

/** A run as it takes what is said to it. */
export interface MessageReceiver {
  readonly runId: string;
  readonly inbox: Inbox;
  /** Undefined until the agent is resolved. */
  readonly state?: RunState;
}

/** Why a request is not taken. */
export interface Refusal {
  code: ErrorCode;
  message: string;
}

/** How a request came, and when. */
export interface InboundMessage {
  source: 'update' | 'signal';
  /** Milliseconds since the epoch. */
  now: number;
}

/** How a run takes one kind of request. */
export interface RequestKind<Input, Receipt> {
  /** For the person who sends one from the Temporal UI. */
  readonly description: string;
  /** Why the request cannot be taken; undefined where it can. Must only look, and never throw. */
  refusal(run: MessageReceiver, input: unknown): Refusal | undefined;
  /** Takes what was not refused: writes it down for the loop, and returns at once. */
  take(run: MessageReceiver, input: Input, arrival: InboundMessage): Receipt;
}

/** Why a run takes nothing at the moment, or nothing more. */
export function unavailable({ runId, inbox }: MessageReceiver, about: Parameters<Inbox['isBusy']>[0]): Refusal | undefined {
  if (inbox.closed) return { code: 'run_ended', message: `Run "${runId}" has ended: start a new one` };
  if (!inbox.isBusy(about)) return undefined;
  return { code: 'busy', message: `Run "${runId}" takes nothing more until it has continued as new: send it again in a moment` };
}

/** Why a run does not take one more request to apply; undefined where it does. It applies what it has in a moment. */
export function noRoomFor(request: unknown, { runId, inbox }: MessageReceiver): Refusal | undefined {
  if (inbox.hasRoomForRequest(request)) return undefined;
  return { code: 'busy', message: `Run "${runId}" has not applied yet what it was sent before: send it again in a moment` };
}

/** A refusal for a request that does not have the expected shape. */
export function misshapen({ runId }: MessageReceiver, request: string, problem: string): Refusal {
  return { code: 'invalid_input', message: `Run "${runId}" refused "${request}": ${problem}` };
}
