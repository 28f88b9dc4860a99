import { isToolCall } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import { hasLargerModel, originOf } from '../domain/fallback.ts';
import { type GuardrailReport, guardsAnswers } from '../domain/guardrails.ts';
import { type Recalled, recallEvent } from '../domain/memory.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { handleAnswer } from './answers.ts';
import { askAtLimit, nearestDeadline, WAITING } from './approvals.ts';
import { compactWindow, isRefusal, isWindowFull, repairConversation, shortenConversation } from './compaction.ts';
import { continueBeforeModelCall, fitsContinueAsNew } from './continue-as-new.ts';
import { beginInputCheck, checkInputFirst, endInputCheck, recordReport, spendOnGuardrails } from './guardrails.ts';
import { agentOfStep, isFirstStep, noteActed } from './handoffs.ts';
import { hooksOfStep } from './hooks.ts';
import { endsByDeadline, limitReached } from './limits.ts';
import { takeMessages, takeRequests } from './messages.ts';
import { endAtLimit, endCancelled, endFailed, type NextStep, type Position, type StepPosition, thoughtOf } from './next-step.ts';
import { points } from './points.ts';
import type { ModelCall, ModelCallOutcome, RunPorts } from './ports.ts';
import { recordFailedCall, recordInterrupted, spend } from './spending.ts';
import { noteError, recordEvent, recordStep, type RunClock, type RunState } from './state/run-state.ts';

// Model phase: its steps in order.

type CallPosition = Extract<Position, { type: 'call_model' }>;
type Failure = Extract<ModelCallOutcome, { type: 'failed' }>;

/**
 * Runs the model phase: checks the limits before paying, calls the model, records one event, and records one step if no tool calls
 * follow.
 */
export async function runModelPhase(state: RunState, ports: RunPorts, position: CallPosition): Promise<NextStep> {
  // The execution before has asked a person about a limit: other requests are handled after the decision.
  if (state.approvals.pending.length > 0) return stopAtLimit(state, ports, position);
  // Awaits only if the run is paused, because every promise in the sandbox costs a stack trace.
  const paused = ports.inbox.paused ? await waitWhilePaused(state, ports, position) : undefined;
  if (paused !== undefined) return paused;
  const settling = points.stepBegins(state, ports);
  if (settling !== undefined) await settling;
  // Messages that no model would read any more are answered by the next turn of a session.
  if (state.session === undefined) takeMessages(state, ports);
  else takeRequests(state, ports);
  if (ports.cancelRequested()) return endCancelled(state);
  if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
  if (state.session !== undefined) takeMessages(state, ports);
  const replacing = points.insteadOfModelCall(state, ports);
  if (replacing !== undefined) return replacing;
  const turn = points.turnBegins(state, ports);
  const stopped = turn === undefined ? undefined : await turn;
  if (stopped !== undefined) return stopped;
  if (isWindowFull(state)) {
    const blocked = await checkInputFirst(state, ports);
    if (blocked !== undefined) return blocked;
    const ended = await compactWindow(state, ports);
    if (ended !== undefined) return unlessFinal(state, position, ended);
    // The summary has used tokens, too.
    if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
    // Messages that arrived during the summary and must be read at once.
    if (ports.inbox.isSteered) takeMessages(state, ports);
  }
  const instead = continueBeforeModelCall(state, ports, position);
  if (instead !== undefined) return instead;

  state.phase = 'model';
  const checking = beginInputCheck(state, ports);
  const outcome = await ports.callModel(modelCall(state, position));
  const input = checking === undefined ? undefined : await endInputCheck(state, ports, checking, outcome);
  state.phase = 'between';
  if (input !== undefined && 'ended' in input) return input.ended;
  switch (outcome.type) {
    case 'cancelled':
    case 'interrupted':
      // Without a partial answer, the request was never sent and cost nothing.
      if (outcome.partial) recordPartial(state, ports, outcome.partial);
      recordReport(state, ports, input?.report);
      return outcome.type === 'cancelled' ? endCancelled(state) : position;
    case 'failed': {
      const givenUp = isGivenUp(ports);
      if (!givenUp) noteError(state, outcome.message);
      recordFailedCall(state, ports, state.snapshot.model, outcome);
      recordReport(state, ports, input?.report);
      return givenUp ? afterGivenUp(state, ports, position) : afterFailure(state, ports, position, outcome);
    }
    case 'response':
      return recordResponse(state, ports, outcome.response, { final: position.final, input: input?.report });
  }
}

/**
 * True if a caller has cancelled the run, or a message interrupts the call: the server does not retry an activity that is to be cancelled,
 * so the loss of its worker alone would otherwise end the run as failed, without the message being read.
 */
function isGivenUp(ports: RunPorts): boolean {
  return ports.cancelRequested() || ports.inbox.isInterrupted;
}

/** Ends the run that was cancelled, or continues to the message for which the call was given up. */
function afterGivenUp(state: RunState, ports: RunPorts, position: CallPosition): NextStep {
  return ports.cancelRequested() ? endCancelled(state) : position;
}

function recordPartial(state: RunState, ports: RunPorts, partial: RecordedResponse): void {
  recordInterrupted(state, ports, state.snapshot.model, partial);
  const text = thoughtOf(partial.content);
  if (text !== null) state.partial = text;
}

/**
 * Handles a failed call. If the conversation was too long, or the provider of a session refuses it again, shortens it once and calls the
 * model again.
 */
async function afterFailure(
  state: RunState,
  ports: RunPorts,
  position: CallPosition,
  { code, message, spent }: Failure,
): Promise<NextStep> {
  if (code === 'context_length_exceeded' && !position.shortened) {
    if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
    const shortened = await shortenConversation(state, ports);
    if (shortened === 'shortened') return { ...position, shortened: true };
    if (shortened !== undefined) return unlessFinal(state, position, shortened);
    // The provider has answered and refused nothing: the context was full before the answer ended, and another one may be shorter.
    // A list may have a model with a larger context.
    if (spent !== undefined || hasLargerModel(state.snapshot)) return { ...position, shortened: true };
  }
  if (isRefusal(code) && !position.shortened && limitReached(state, ports.now(), position) === undefined) {
    const repaired = await repairConversation(state, ports, message);
    if (repaired === 'repaired') return { ...position, shortened: true };
    if (repaired !== undefined) return unlessFinal(state, position, repaired);
  }
  return unlessFinal(state, position, endFailed(state, code, message));
}

/** Ends the run at a limit, with one more answer if the agent allows it, or continues it once the limit is raised. */
async function stopAtLimit(state: RunState, ports: RunPorts, position: CallPosition): Promise<NextStep> {
  const next = await askAtLimit(state, ports, position, () => limitReached(state, ports.now(), position));
  if (next === undefined) return ports.cancelRequested() ? endCancelled(state) : position;
  const isStepLimit = next.type === 'finish' && next.ending.stopReason === 'step_limit';
  return isStepLimit && state.limits.finalAttempt && !position.final ? { type: 'call_model', final: true } : next;
}

/** Ends the run at its limit if the final attempt failed, so that the failure does not replace the partial answer. */
function unlessFinal(state: RunState, { final }: CallPosition, next: NextStep): NextStep {
  return final && next.type === 'finish' && next.ending.status === 'error' ? endAtLimit(state) : next;
}

function modelCall(state: RunState, { final, shortened }: CallPosition): ModelCall {
  const { context, window, firstOffset, seenEvents, resultIds } = state;
  const news = context.events.slice(Math.max(0, seenEvents - firstOffset));
  const skipped = state.code === undefined ? 0 : news.reduce((count, { caller }) => (caller === 'code' ? count + 1 : count), 0);
  // The ids of calls of code are in the history already: they only take their places.
  const earlierIds = news.length - skipped <= 1 ? [] : news.slice(0, -1).map(({ id, caller }) => (caller === 'code' ? '' : id));
  return {
    step: context.currentStep + 1,
    through: window.through,
    lastEventId: window.lastEventId,
    ...defined({ resultIds }),
    ...(earlierIds.length === 0 ? {} : { earlierIds }),
    ...(skipped === 0 ? {} : { skippedEvents: skipped }),
    // A conversation that was too long has no room for more.
    ...(isFirstStep(state) ? { firstStep: true as const } : {}),
    ...(recallDue(state) && !shortened ? { recall: true } : {}),
    ...(shortened ? { shortened } : {}),
    newEvents: countNewEvents(window, seenEvents),
    final,
  };
}

/** Counts the events that the model has not seen. It is a plain loop for speed, because the window may be large. */
function countNewEvents({ events }: RunState['window'], seenEvents: number): number {
  let count = 0;
  for (const { offset } of events) if (offset >= seenEvents) count += 1;
  return count;
}

/** The circumstances of a response. */
interface Responded {
  final: boolean;
  /** The checks of the messages that it answers. */
  input: GuardrailReport | undefined;
}

function recordResponse(
  state: RunState,
  ports: RunPorts,
  { recalled, ...recorded }: RecordedResponse,
  { final, input }: Responded,
): NextStep {
  const { id, content, providerItems, notices, finishReason, failedAttempts, answeredBy } = recorded;
  const { model, name: author } = state.snapshot;
  const spending = spend(state, { model: answeredBy ?? model, usage: recorded.usage, answer: content, failedAttempts });
  const usage = spending.usage ?? null;
  const guardrails = recorded.guardrails === undefined ? {} : { guardrails: spendOnGuardrails(state, recorded.guardrails) };
  noteActed(state);
  recordRecall(state, ports, recalled);
  recordEvent(state, ports, {
    id,
    author,
    content,
    ...spending,
    ...defined({ answeredBy }),
    ...(guardsAnswers(state.snapshot) ? { guarded: true } : {}),
    ...defined({ providerItems, notices }),
    ...guardrails,
  });
  state.seenEvents = state.window.through;
  if (state.session !== undefined) delete state.session.refusal;
  // After the answer, so that its offset is the one that its activity expects.
  recordReport(state, ports, input);
  if (usage !== null) state.measured = { tokens: usage.promptTokens + usage.completionTokens, bytes: state.window.bytes };
  const response = { ...recorded, usage };
  if (content.some(isToolCall)) return { type: 'run_tools', response, final, outcomes: [] };

  recordStep(state, {
    ...agentOfStep(state),
    ...originOf(recorded),
    thought: thoughtOf(content),
    toolCalls: [],
    usage,
    finishReason,
    ...defined({ warnings: response.warnings }),
    ...hooksOfStep(response),
    ...(final ? { final: true } : {}),
  });
  return handleAnswer(state, ports, response, final);
}

// Shared state: the entries that a model call is given from the memory of the agent.

/** True if the next model call asks the memory. It stays true until a response is recorded: a call without one has recalled in vain. */
function recallDue(state: RunState): boolean {
  return state.recallDue === true;
}

/**
 * Records what the memory gave to a model call, before the response to it: later calls find it at the place at which this one has read
 * it. Nothing is recorded if the memory had nothing.
 */
function recordRecall(state: RunState, clock: RunClock, recalled: Recalled | undefined): void {
  delete state.recallDue;
  if (recalled !== undefined) recordEvent(state, clock, recallEvent(recalled));
}

// Model phase: the wait of a paused run before it.

/**
 * Waits while the run is paused. A cancellation ends the wait, and so does the deadline of the run, unless a person is asked at
 * limits. If the history becomes full meanwhile, the run continues waiting in the next execution.
 */
async function waitWhilePaused(state: RunState, ports: RunPorts, position: StepPosition): Promise<NextStep | undefined> {
  const { inbox } = ports;
  while (inbox.paused && !ports.cancelRequested() && !endsByDeadline(state, ports.now())) {
    if (state.status !== 'paused') {
      state.status = 'paused';
      ports.recorded?.(state);
    }
    if (ports.continueDue(WAITING)) {
      // The results of the last step may be too large to carry. Compacting them is the only work that a paused run does.
      const isToShorten = isWindowFull(state) && limitReached(state, ports.now(), position) === undefined;
      const ended = isToShorten ? await compactWindow(state, ports) : undefined;
      if (ended !== undefined) return ended;
      if (fitsContinueAsNew(state)) return { type: 'continue', position };
    }
    const { received } = inbox;
    await ports.until(() => !inbox.paused || inbox.received > received, nearestDeadline(state, ports.now()));
    takeRequests(state, ports);
  }
  state.status = 'running';
  return undefined;
}
