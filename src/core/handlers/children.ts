import { isJsonObject } from '../domain/json.ts';
import { parentOf } from '../domain/run-input.ts';
import {
  agentsOfCalls,
  childrenOf,
  noteChildEnd,
  noteChildWaiting,
  notifyOnEnd as notifyRunOnEnd,
} from '../capabilities/children/children.ts';
import type { ChildEndedInput, ChildWaitingInput, PausedByParentInput, NotifyOnEndInput, StartedAgainInput } from '../protocol.ts';
import { invalidRequest, type MessageReceiver, type RequestKind } from './decisions.ts';

/** Names the run that is told of the end of this one. Sent by the run that has started it. */
export const notifyOnEnd: RequestKind<NotifyOnEndInput, void> = {
  description: 'Between runs: the run tells another one of its end: {"to": "run id"}',
  refusal: (run, input) => idProblem(run, 'notifyOnEnd', input, 'to'),
  take({ inbox }, { to }) {
    notifyRunOnEnd(inbox, to);
  },
};

/** Tells of the end of a child. Ids that are not those of children are ignored. */
export const childEnded: RequestKind<ChildEndedInput, void> = {
  description: 'Between runs: a child of the run, or one of its turns, has ended: {"runId", "turn"?}',
  refusal: (run, input) => idProblem(run, 'childEnded', input, 'runId'),
  take(run, { runId, turn }) {
    if (isChild(run, runId) && isWaitedFor(run, runId, turn)) noteChildEnd(run.inbox, runId);
  },
};

/** Tells that a child waits for a person, or that it does not wait any more. */
export const childWaiting: RequestKind<ChildWaitingInput, void> = {
  description: 'Between runs: a child of the run waits for a person, or no longer: {"runId", "waiting"}',
  refusal: (run, input) => idProblem(run, 'childWaiting', input, 'runId'),
  take(run, { runId, waiting }) {
    if (isChild(run, runId)) noteChildWaiting(run.inbox, runId, waiting);
  },
};

/** Pauses the run with the one that started it, or lets it continue with that. A caller's own pause of this run stays. */
export const parentPaused: RequestKind<PausedByParentInput, void> = {
  description: 'Between runs: the parent was paused or resumed: {"paused"}',
  refusal: (run, input) =>
    isJsonObject(input) && typeof input['paused'] === 'boolean'
      ? undefined
      : invalidRequest(run, 'pausedByParent', '"paused" must be true or false'),
  take({ inbox }, { paused }) {
    inbox.pauseWithOther(paused);
  },
};

/** Cancels a run whose parent was terminated and has been started again under the same id: the new one starts its own children. */
export const startedAgain: RequestKind<StartedAgainInput, void> = {
  description: 'Between runs: the run that started this one has ended, and was started again: {"runId", "firstRunId"}',
  refusal: (run, input) => idProblem(run, 'startedAgain', input, 'runId') ?? idProblem(run, 'startedAgain', input, 'firstRunId'),
  take({ state, inbox }, { runId, firstRunId }) {
    const parent = parentOf(state ?? {});
    if (parent?.runId !== runId || parent.firstRunId === undefined || parent.firstRunId === firstRunId) return;
    inbox.cancelReason ??= `The run "${runId}", which started this one, was started again`;
    inbox.cancelAsked = true;
  },
};

/** The most characters of the id of a run. */
const MAX_ID = 1_000;

function isChild({ state }: MessageReceiver, runId: string): boolean {
  return childrenOf(state).includes(runId);
}

/** True unless an earlier turn of a session has ended, whose answer was given up. */
function isWaitedFor({ state }: MessageReceiver, runId: string, turn: number | undefined): boolean {
  return turn === undefined || agentsOfCalls(state ?? {}).some((child) => child.runId === runId && child.turn === turn);
}

function idProblem(run: MessageReceiver, request: string, input: unknown, field: string): ReturnType<RequestKind<never, void>['refusal']> {
  const id = isJsonObject(input) ? input[field] : undefined;
  if (typeof id === 'string' && id !== '' && id.length <= MAX_ID) return undefined;
  return invalidRequest(run, request, `"${field}" must be the id of a run`);
}
