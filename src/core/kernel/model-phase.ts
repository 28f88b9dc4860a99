import { isToolCall, PAUSED } from '../domain/content.ts';
import { hasLargerModel } from '../domain/fallback.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { FINAL_ANSWER } from '../domain/tool-calls.ts';
import { windowText } from '../domain/window.ts';
import { askAtLimit, nearestDeadline, WAITING } from './approvals.ts';
import type { AfterModelCall, BesideModelCall } from './capability.ts';
import { continueBeforeModelCall, fitsContinueAsNew, isWindowFull } from './continue-as-new.ts';
import { endsByDeadline, limitReached, recordFailedCall, recordInterrupted, spend } from './limits.ts';
import { takeMessages, takeRequests } from './messages.ts';
import {
  type Answered,
  answerOf,
  type CallPosition,
  endAtLimit,
  endCancelled,
  endFailed,
  type NextStep,
  type StepPosition,
  thoughtOf,
} from './next-step.ts';
import { points } from './points.ts';
import type { ModelCall, ModelCallOutcome, RunPorts } from './ports.ts';
import { noteError, recordEvent, recordStep, type RunState } from './run-state.ts';

// Model phase: its steps in order.

type Failure = Extract<ModelCallOutcome, { type: 'failed' }>;

/**
 * Runs the model phase: checks the limits before paying, calls the model, records one event, and records one step if no tool calls follow.
 */
export async function runModelPhase(state: RunState, ports: RunPorts, position: CallPosition): Promise<NextStep> {
  // The previous execution has asked a person about a limit: other requests are handled after the decision.
  if (state.approvals.pending.length > 0) return stopAtLimit(state, ports, position);
  // Awaits only if the run is paused, because every promise in the sandbox costs a stack trace.
  const paused = ports.inbox.paused ? await waitWhilePaused(state, ports, position) : undefined;
  if (paused !== undefined) return paused;
  const settling = points.stepBegins(state, ports);
  if (settling !== undefined) await settling;
  const keepsMessages = points.keepsMessages(state);
  if (keepsMessages) takeRequests(state, ports);
  else takeMessages(state, ports);
  if (ports.cancelRequested()) return endCancelled(state);
  if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
  if (keepsMessages) takeMessages(state, ports);
  const replacing = points.insteadOfModelCall(state, ports);
  if (replacing !== undefined) return replacing;
  const turn = points.beforeAgentActs(state, ports);
  const stopped = turn === undefined ? undefined : await turn;
  if (stopped !== undefined) return stopped;
  if (isWindowFull(state)) {
    const blocked = await points.beforeRoomIsMade(state, ports);
    if (blocked !== undefined) return blocked;
    const ended = await points.makesRoom(state, ports);
    if (ended !== undefined) return unlessFinal(state, position, ended);
    // The summary has used tokens, too.
    if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
    // These messages arrived during the summary and must be read at once.
    if (ports.inbox.isSteered) takeMessages(state, ports);
  }
  const instead = continueBeforeModelCall(state, ports, position);
  if (instead !== undefined) return instead;

  state.phase = 'model';
  const beside = points.duringModelCall(state, ports);
  const outcome = await ports.callModel(modelCall(state, position, beside));
  const after = beside === undefined ? undefined : await beside.ended(outcome);
  state.phase = 'between';
  if (after !== undefined && 'instead' in after) return after.instead;
  switch (outcome.type) {
    case 'cancelled':
    case 'interrupted':
      // Without a partial answer, the request was never sent and cost nothing.
      if (outcome.partial) recordPartial(state, ports, outcome.partial);
      after?.record();
      return outcome.type === 'cancelled' ? endCancelled(state) : position;
    case 'failed': {
      const givenUp = isGivenUp(state, ports);
      if (!givenUp) noteError(state, outcome.message);
      recordFailedCall(state, ports, state.snapshot.model, outcome);
      after?.record();
      return ports.cancelRequested() ? endCancelled(state) : givenUp ? position : afterFailure(state, ports, position, outcome);
    }
    case 'response':
      return recordResponse(state, ports, outcome.response, { final: position.final, after });
  }
}

/**
 * True if a caller has cancelled the run, a message interrupts the call, or the deadline is over. The server does not retry an activity that
 * is being cancelled, so the loss of its worker would otherwise end the run as failed, without the message being read.
 */
function isGivenUp(state: RunState, ports: RunPorts): boolean {
  return ports.cancelRequested() || ports.inbox.isInterrupted || endsByDeadline(state, ports.now());
}

function recordPartial(state: RunState, ports: RunPorts, partial: RecordedResponse): void {
  recordInterrupted(state, ports, state.snapshot.model, partial);
  const text = thoughtOf(partial.content);
  if (text !== null) state.partial = text;
}

/** Handles a failed call. If the conversation was too long, or the cause can be repaired, fixes that once and calls the model again. */
async function afterFailure(
  state: RunState,
  ports: RunPorts,
  position: CallPosition,
  { code, message, spent }: Failure,
): Promise<NextStep> {
  if (code === 'context_length_exceeded' && !position.shortened) {
    if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
    const shortened = await points.shortens(state, ports);
    if (shortened === 'shortened') return { ...position, shortened: true };
    if (shortened !== undefined) return unlessFinal(state, position, shortened);
    // The provider has answered and refused nothing: the context was full before the answer ended, and another answer may be shorter.
    // A list may have a model with a larger context.
    if (spent !== undefined || hasLargerModel(state.snapshot)) return { ...position, shortened: true };
  }
  if (!position.shortened && limitReached(state, ports.now(), position) === undefined) {
    const repaired = await points.repairs(state, ports, { code, message });
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

/** Ends the run at its limit if the final attempt failed: the failure must not replace the partial answer. */
function unlessFinal(state: RunState, { final }: CallPosition, next: NextStep): NextStep {
  return final && next.type === 'finish' && next.ending.status === 'error' ? endAtLimit(state) : next;
}

function modelCall(state: RunState, position: CallPosition, beside?: BesideModelCall): ModelCall {
  const input = points.modelCallInput(state, position);
  const { context, window, firstOffset, seenEvents, resultIds } = state;
  const news = context.events.slice(Math.max(0, seenEvents - firstOffset));
  // Calls that no model made, and their results, take no place in the window.
  const skipped = news.reduce((count, { caller }) => count + (caller === undefined ? 0 : 1), 0);
  // The ids of calls that no model made are in the history already: empty strings keep their places.
  const earlierIds = news.length - skipped <= 1 ? [] : news.slice(0, -1).map(({ id, caller }) => (caller === undefined ? id : ''));
  return {
    step: context.currentStep + 1,
    through: window.through,
    lastEventId: window.lastEventId,
    ...defined({ resultIds, paused: position.paused }),
    ...(earlierIds.length === 0 ? {} : { earlierIds }),
    ...(skipped === 0 ? {} : { skippedEvents: skipped }),
    ...points.modelCallParts(state, position),
    ...(Object.keys(input).length === 0 ? {} : { input }),
    newEvents: countNewEvents(window, seenEvents),
    ...(beside === undefined ? {} : { beside: true }),
    final: position.final,
  };
}

/** Counts the events that the model has not seen. A plain loop for speed, because the window may be large. */
function countNewEvents({ events }: RunState['window'], seenEvents: number): number {
  let count = 0;
  for (const { offset } of events) if (offset >= seenEvents) count += 1;
  return count;
}

interface Responded {
  final: boolean;
  /** The background work of the model call, recorded after the response. */
  after: Exclude<AfterModelCall, { instead: unknown }> | undefined;
}

function recordResponse(state: RunState, ports: RunPorts, arrived: RecordedResponse, { final, after }: Responded): NextStep {
  const { id, content, providerItems, sources, notices, finishReason, failedAttempts, answeredBy } = arrived;
  const { model, name: author } = state.snapshot;
  const { inBatch, hosted } = arrived;
  const spending = spend(state, { model: answeredBy ?? model, usage: arrived.usage, answer: content, failedAttempts, inBatch, hosted });
  const usage = spending.usage ?? null;
  const made = points.madeParts(state, arrived);
  const recorded = points.responseArrives(state, ports, arrived);
  recordEvent(state, ports, {
    id,
    author,
    content,
    ...spending,
    ...defined({ answeredBy }),
    ...points.answerParts(state),
    ...defined({ providerItems, sources, notices }),
    ...made,
  });
  state.seenEvents = state.window.through;
  after?.record();
  if (usage !== null) state.measured = { tokens: usage.promptTokens + usage.completionTokens, bytes: windowText(state.window) };
  const response = { ...recorded, usage };
  if (content.some(isToolCall)) return { type: 'run_tools', response, final, outcomes: [] };

  recordStep(state, {
    ...points.stepParts(state, response),
    thought: thoughtOf(content),
    toolCalls: [],
    usage,
    finishReason,
    ...defined({ warnings: response.warnings, hosted: response.hosted }),
    ...(final ? { final: true } : {}),
  });
  return handleAnswer(state, ports, response, final);
}

// Model phase: the wait of a paused run.

/**
 * Waits while the run is paused. A cancellation ends the wait; so does the deadline of the run, unless a person is asked at limits. If the
 * history fills up meanwhile, the run continues waiting in the next execution.
 */
async function waitWhilePaused(state: RunState, ports: RunPorts, position: StepPosition): Promise<NextStep | undefined> {
  const { inbox } = ports;
  while (inbox.paused && !ports.cancelRequested() && !endsByDeadline(state, ports.now())) {
    if (state.status !== 'paused') {
      state.status = 'paused';
      ports.recorded?.(state);
    }
    if (ports.continueDue(WAITING)) {
      // The results of the last step may be too large to carry. Making room for them is the only work that a paused run does.
      const isToShorten = isWindowFull(state) && limitReached(state, ports.now(), position) === undefined;
      const ended = isToShorten ? ((await points.beforeRoomIsMade(state, ports)) ?? (await points.makesRoom(state, ports))) : undefined;
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

// Model phase: a response without tool calls.

/** Handles a response without tool calls: it is the run's answer, unless it was withheld or does not fit the output schema. */
function handleAnswer(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  if (response.finishReason === PAUSED && !final) return { type: 'call_model', final: false, paused: true };
  if (response.verdict !== undefined) return finishChecked(state, ports, response, final);
  if (response.refusal !== undefined) return endFailed(state, 'model_refusal', `The model refused to answer: ${response.refusal}`);
  if (response.finishReason === 'content_filter') {
    return endFailed(state, 'content_filter', `The provider of "${state.snapshot.model}" withheld the answer (content filter)`);
  }
  const text = thoughtOf(response.content) ?? '';
  const { output } = state.snapshot;
  if (output === undefined) return finishWithAnswer(state, ports, { output: textOutput(response, text), final });

  const verdict = response.output ?? { type: 'problem', problem: 'the answer was not checked' };
  if (verdict.type !== 'problem')
    return finishWithAnswer(state, ports, { output: verdict.type === 'parsed' ? verdict.value : JSON.parse(text), final });
  return output.mode === 'final_answer' && !final
    ? askForCall(state, ports, verdict.problem)
    : retryOutput(state, ports, verdict.problem, final);
}

/**
 * Ends the run with a checked answer and its verdict. The program's step decides by the verdict, even if the answer does not fit the
 * schema.
 */
export function finishChecked(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  const output = answerOf(response, state.snapshot) ?? thoughtOf(response.content) ?? '';
  return finishWithAnswer(state, ports, { output, final, ...defined({ verdict: response.verdict }) });
}

/** Sends an answer that does not fit back to the model, as many times as the agent allows. */
function retryOutput(state: RunState, ports: RunPorts, problem: string, final: boolean): NextStep {
  if (final) return endAtLimit(state);
  if (!mayRetryOutput(state)) {
    return endFailed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
  }
  const how =
    state.snapshot.output?.mode === 'final_answer'
      ? `Answer by a call of the tool "${FINAL_ANSWER}".`
      : 'Answer again with JSON that fits.';
  const content = `Your previous answer did not fit the required JSON Schema: ${problem}\n${how}`;
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content }] });
  return { type: 'call_model', final: false };
}

/**
 * Asks a model that has answered with text to call `final_answer`: the first time regardless of the allowed retries, then with the problem
 * and as many times as the agent allows.
 */
function askForCall(state: RunState, ports: RunPorts, problem: string): NextStep {
  if (state.outputRetries > 0) return retryOutput(state, ports, problem, false);
  mayRetryOutput(state);
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content: CALL_FINAL_ANSWER }] });
  return { type: 'call_model', final: false };
}

const CALL_FINAL_ANSWER =
  `You have answered with text, and the answer has to come as a call of the tool "${FINAL_ANSWER}". ` +
  'Go on if you are not done; otherwise call it now, with the answer in "output".';

/** Counts a structured answer that did not fit. False once the allowed retries are used up. */
export function mayRetryOutput(state: RunState): boolean {
  state.outputRetries += 1;
  return state.outputRetries <= (state.snapshot.output?.maxRetries ?? 0);
}

/** Ends the run with an answer, after checking it if that is required. */
export function finishWithAnswer(state: RunState, ports: RunPorts, answered: Answered): NextStep {
  return points.isAnswerChecked(state) ? { type: 'check_output', answered } : acceptAnswer(state, ports, answered);
}

/**
 * Ends the run with an answer. After the step limit, the status still reports the limit. Messages that were accepted before the answer
 * arrived are answered first, so that no accepted message stays unanswered. `checked`: the answer has passed its checks.
 */
export function acceptAnswer(state: RunState, ports: RunPorts, { final, ...answered }: Answered, checked = false): NextStep {
  const shown = checked ? { ...answered, checked: true as const } : answered;
  if (final) return { type: 'finish', ending: { status: 'max_iterations_reached', stopReason: 'step_limit', ...shown } };
  // An interrupted turn reads no more messages: the next one answers them.
  if (points.keepsMessages(state) && ports.cancelRequested()) return endCancelled(state);
  if (takeMessages(state, ports) || points.turnContinues(state, answered.output)) return { type: 'call_model', final: false };
  state.context.finalResult = answered.output;
  return { type: 'finish', ending: { status: 'completed', stopReason: 'final_answer', ...shown } };
}

/** Returns the output of a response: its parts if it contains media, otherwise its text. */
function textOutput(response: RecordedResponse, text: string): JsonValue {
  const parts = response.content.flatMap((item) => (item.type === 'message' && Array.isArray(item.content) ? item.content : []));
  return parts.some((part) => part.type !== 'text') ? (JSON.parse(JSON.stringify(parts)) as JsonValue) : text;
}
