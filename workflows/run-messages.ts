import { ApplicationFailure } from '@temporalio/common';
import { defineSignal, defineUpdate, log, setHandler } from '@temporalio/workflow';
import { BYTE_BUDGETS } from '../src/domain/byte-budget.ts';
import { cutText } from '../src/domain/cut-content.ts';
import type { ErrorCode } from '../src/domain/error.ts';
import {
  type CancelReasonInput,
  type MessageReceipt,
  type PauseReceipt,
  scopedName,
  type SendInput,
  SIGNALS,
  UPDATES,
} from '../src/protocol.ts';
import { messageProblem } from '../src/schema/message-schema.ts';
import type { LiveRun } from './live-run.ts';

/** A refusal: leaves nothing in history, and tells the caller why. */
type Refusal = { code: ErrorCode; message: string };

/**
 * Registers what a run takes from outside. Must be called before the first await: a message may come with the first
 * task. Handlers only write into the inbox and return at once, so that they never hold up continue-as-new; the loop
 * does the work.
 */
export function registerMessages(run: LiveRun): void {
  const { inbox, key } = run;
  setHandler(defineUpdate<MessageReceipt, [SendInput]>(scopedName(UPDATES.send, key)), (input) => receive(run, input), {
    validator: (input) => refuse(sendRefusal(run, input)),
    description: 'A message to the run: {"id": "your own", "content": "text"}',
  });
  const setPaused = (paused: boolean): PauseReceipt => {
    inbox.countUpdate();
    inbox.paused = paused;
    return { version: 1, paused };
  };
  const validator = (): void => refuse(refusal(run));
  setHandler(defineUpdate<PauseReceipt>(scopedName(UPDATES.pause, key)), () => setPaused(true), {
    validator,
    description: 'Begins nothing new after the current step, until it is resumed',
  });
  setHandler(defineUpdate<PauseReceipt>(scopedName(UPDATES.resume, key)), () => setPaused(false), { validator, description: 'Goes on' });
  setHandler(defineSignal<[SendInput]>(scopedName(SIGNALS.send, key)), (input) => receiveSignal(run, input), {
    description: 'A message to the run, for callers that can only signal: {"id": "your own", "content": "text"}',
  });
  setHandler(defineSignal<[CancelReasonInput?]>(scopedName(SIGNALS.cancelReason, key)), (input) => receiveReason(run, input), {
    description: 'Why the run is about to be cancelled, where the request must not say it in clear text: {"reason": "text"}',
  });
}

function receive({ inbox }: LiveRun, { id, content }: SendInput): MessageReceipt {
  inbox.countUpdate();
  const isNew = inbox.add({ id, content, timestamp: Date.now() / 1000 });
  return { version: 1, id, status: isNew ? 'queued' : 'duplicate', queued: inbox.queued };
}

/** A signal cannot be refused to its sender: what does not fit is dropped, and said in the log. */
function receiveSignal(run: LiveRun, input: SendInput): void {
  run.inbox.arrivals += 1;
  const refused = sendRefusal(run, input);
  if (refused === undefined) run.inbox.add({ id: input.id, content: input.content, timestamp: Date.now() / 1000 });
  else log.warn(`A message by signal was dropped: ${refused.message}`, { runId: run.runId, code: refused.code });
}

function receiveReason({ inbox }: LiveRun, input: CancelReasonInput | undefined): void {
  inbox.arrivals += 1;
  if (typeof input?.reason === 'string' && input.reason !== '') inbox.cancelReason = cutText(input.reason, BYTE_BUDGETS.errorMessage);
}

function sendRefusal(run: LiveRun, input: unknown): Refusal | undefined {
  const problem = messageProblem(input);
  if (problem !== undefined) return { code: problem.code, message: `Run "${run.runId}" refused a message: ${problem.message}` };
  const message = input as SendInput;
  if (run.inbox.has(message.id)) return run.inbox.busy ? refusal(run) : undefined;
  if (!run.inbox.closed && !run.inbox.hasRoomFor(message)) {
    const { queued } = run.inbox;
    return { code: 'queue_full', message: `The queue of run "${run.runId}" is full (${queued} messages wait): send this one again later` };
  }
  return refusal(run);
}

function refusal({ runId, inbox }: LiveRun): Refusal | undefined {
  if (inbox.closed) return { code: 'run_ended', message: `Run "${runId}" has ended: start a new one` };
  if (!inbox.busy) return undefined;
  return { code: 'busy', message: `Run "${runId}" takes nothing more until it has continued as new: send it again in a moment` };
}

/** Without a stack: the Temporal UI shows it to whoever sent the Update. */
function refuse(refused: Refusal | undefined): void {
  if (refused === undefined) return;
  const failure = ApplicationFailure.create({ type: refused.code, message: refused.message, nonRetryable: true });
  failure.stack = '';
  throw failure;
}
