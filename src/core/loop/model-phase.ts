import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { type GuardrailReport, guardsAnswers } from '../domain/guardrails.ts';
import { branchesId } from '../domain/handoffs.ts';
import type { JsonValue } from '../domain/json.ts';
import { type Recalled, recallEvent } from '../domain/memory.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { jsonTextPrefix } from '../domain/text.ts';
import { FINAL_ANSWER } from '../domain/tool-calls.ts';
import { askAtLimit, nearestDeadline, WAITING } from './approvals.ts';
import { compactWindow, isWindowFull, shortenConversation, summariseEarlier } from './compaction.ts';
import { continueBeforeModelCall, fitsContinueAsNew } from './continue-as-new.ts';
import { branchInput, endTurn, isParallel, takeTurn } from './flows.ts';
import { endByGuardrail, recordReport, reportOf, spendOnGuardrails } from './guardrails.ts';
import { agentOfStep, isFirstStep, noteActed } from './handoffs.ts';
import { hooksOfStep } from './hooks.ts';
import { endsByDeadline, limitReached } from './limits.ts';
import { takeMessages, takeRequests } from './messages.ts';
import {
  type Answered,
  answerOf,
  endAtLimit,
  endCancelled,
  endFailed,
  type NextStep,
  type Position,
  type StepPosition,
  thoughtOf,
} from './next-step.ts';
import { settlePermissions } from './permissions.ts';
import type { GuardrailOutcome, ModelCall, ModelCallOutcome, RunPorts } from './ports.ts';
import { recordFailedCall, recordInterrupted, spend } from './spending.ts';
import { noteError, recordEvent, recordNotices, recordStep, type RunClock, type RunState } from './state/run-state.ts';

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
  if (ports.inbox.permissionChanges.length > 0) await settlePermissions(state, ports);
  // Messages that no model would read any more are answered by the next turn of a session.
  if (state.session === undefined) takeMessages(state, ports);
  else takeRequests(state, ports);
  if (ports.cancelRequested()) return endCancelled(state);
  if (limitReached(state, ports.now(), position) !== undefined) return stopAtLimit(state, ports, position);
  if (state.session !== undefined) takeMessages(state, ports);
  if (isParallel(state)) return startBranches(state, ports);
  const stopped = state.handoffs?.flow?.isDue ? await takeTurn(state, ports) : undefined;
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
      if (outcome.partial) recordPartial(state, ports, outcome.partial);
      recordReport(state, ports, input?.report);
      return endCancelled(state);
    case 'interrupted':
      // Without a partial answer, the request was never sent and cost nothing.
      if (outcome.partial) recordPartial(state, ports, outcome.partial);
      recordReport(state, ports, input?.report);
      return position;
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
    if (spent !== undefined) return { ...position, shortened: true };
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
  const { id, content, providerItems, notices, finishReason, failedAttempts } = recorded;
  const { model, name: author } = state.snapshot;
  const spending = spend(state, { model, usage: recorded.usage, answer: content, failedAttempts });
  const usage = spending.usage ?? null;
  const guardrails = recorded.guardrails === undefined ? {} : { guardrails: spendOnGuardrails(state, recorded.guardrails) };
  noteActed(state);
  recordRecall(state, ports, recalled);
  recordEvent(state, ports, {
    id,
    author,
    content,
    ...spending,
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
    thought: thoughtOf(content),
    toolCalls: [],
    usage,
    finishReason,
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

// Model phase: the start of agents in parallel, in place of a model call.

/** Calls every agent of the flow in one step, as a model would. All of them get the input of the run, so the calls do not repeat it. */
function startBranches(state: RunState, ports: RunPorts): NextStep {
  const { name, tools } = state.snapshot;
  if (branchInput(state) === undefined) {
    const problem = 'its agents run in parallel, each in a separate conversation: start it with "input" alone, without "messages"';
    return endFailed(state, 'invalid_input', `Flow "${name}" cannot start: ${problem}`);
  }
  const id = branchesId(state.runId);
  const content = tools.map(({ name: tool }, index): ToolCall => {
    return { type: 'tool_call', toolCallId: `branch-${index + 1}`, name: tool, arguments: {} };
  });
  recordEvent(state, ports, { id, author: name, content });
  return { type: 'run_tools', response: { id, content, finishReason: 'tool_calls', usage: null }, final: false, outcomes: [] };
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

// Model phase: repairs a conversation that the provider of a session refuses.

/** Bytes of a refusal that a session remembers. */
const REFUSAL_BYTES = 300;

/** True for the codes of a request that a provider refuses as it is. The client has tried the forms that it knows. */
function isRefusal(code: ErrorCode): boolean {
  return code === 'model_bad_request' || code === 'model_unprocessable';
}

/**
 * Handles the refusal of a request. What is in the conversation of a session stays there, and would be refused in every later turn. So the
 * second refusal of the same words without an answer in between has the conversation compacted, once in a turn. Undefined: the turn ends
 * with what the provider said. The conversation of a run without turns is not changed, because the run ends with its error.
 */
async function repairConversation(state: RunState, ports: RunPorts, refused: string): Promise<'repaired' | NextStep | undefined> {
  const { session } = state;
  if (session === undefined) return undefined;
  const refusal = wordsOf(refused);
  if (session.refusal !== refusal) {
    session.refusal = refusal;
    return undefined;
  }
  const { bytes, events } = state.window;
  const compacted = (await summariseEarlier(state, ports)) ?? (await shortenConversation(state, ports));
  if (compacted === undefined) return undefined;
  if (compacted !== 'summarised' && compacted !== 'shortened') return unlessFailed(compacted);
  session.compactedAt = session.turns;
  const what = `${events.length} events with ${bytes} bytes are now ${state.window.events.length} with ${state.window.bytes}`;
  const message = `The provider refused the conversation twice, so it was compacted: ${what}`;
  recordNotices(state, ports, [{ code: 'conversation_repaired', message }]);
  return 'repaired';
}

/** A compaction that failed does not hide what the provider said. */
function unlessFailed(next: NextStep): NextStep | undefined {
  return next.type === 'finish' && next.ending.status === 'error' ? undefined : next;
}

/** Returns the words of a refusal without ids and places, which differ from request to request. */
function wordsOf(message: string): string {
  const words = message.replaceAll(/[\w-]+/g, (word) => (/\d/.test(word) ? '#' : word));
  return jsonTextPrefix(words, REFUSAL_BYTES);
}

// Model phase: the check of messages that the model has not read.

/**
 * Begins the check of messages that no check has read, in parallel with the model call that reads them: if it trips, the call is given up.
 * Undefined if there are none.
 */
function beginInputCheck(state: RunState, ports: RunPorts): Promise<GuardrailOutcome> | undefined {
  const { uncheckedFrom: from, window } = state;
  if (from === undefined) return undefined;
  const { through, lastEventId } = window;
  return ports.checkGuardrails({ type: 'input', from, through, lastEventId }).then((outcome) => {
    if (endByGuardrail(outcome, reportOf(state, 'input', outcome)) !== undefined) ports.abortModelCall();
    return outcome;
  });
}

/** The check of messages that has ended: with the end of the run, or with a report to record after the model's answer. */
type InputCheck = { ended: NextStep } | { report: GuardrailReport };

/**
 * Waits for the check that runs in parallel with the model call. If the messages do not pass, the call counts as given up: its answer is no
 * step, and no tool of it starts.
 */
async function endInputCheck(
  state: RunState,
  ports: RunPorts,
  checking: Promise<GuardrailOutcome>,
  answered?: ModelCallOutcome,
): Promise<InputCheck> {
  const outcome = await checking;
  const report = reportOf(state, 'input', outcome);
  const ended = outcome.type === 'cancelled' ? endCancelled(state) : endByGuardrail(outcome, report);
  const from = state.uncheckedFrom ?? state.window.through;
  delete state.uncheckedFrom;
  if (ended === undefined) return { report };
  if (answered !== undefined) recordUnread(state, ports, answered);
  const blocked = outcome.type === 'cancelled' ? undefined : offsetsFrom(state, from);
  recordReport(state, ports, { ...report, ...defined({ blocked }) });
  return { ended };
}

/** Checks messages before anything else reads them: a compaction would take them out of the window, or send them to a model. */
async function checkInputFirst(state: RunState, ports: RunPorts): Promise<NextStep | undefined> {
  const checking = beginInputCheck(state, ports);
  if (checking === undefined) return undefined;
  const checked = await endInputCheck(state, ports, checking);
  if ('ended' in checked) return checked.ended;
  recordReport(state, ports, checked.report);
  return undefined;
}

/** Records what arrived of a model call whose messages did not pass, and its cost. */
function recordUnread(state: RunState, ports: RunPorts, outcome: ModelCallOutcome): void {
  const { model } = state.snapshot;
  if (outcome.type === 'failed') recordFailedCall(state, ports, model, outcome);
  else if (outcome.type === 'response') recordInterrupted(state, ports, model, outcome.response);
  else if (outcome.partial) recordInterrupted(state, ports, model, outcome.partial);
}

/** Returns the offsets of the messages that did not pass, and of everything after them. */
function offsetsFrom({ window }: RunState, from: number): number[] {
  return window.events.filter(({ offset }) => offset >= from).map(({ offset }) => offset);
}

// Model phase: a response without tool calls.

/** Handles a response without tool calls: it is the answer of the run, unless it was withheld or does not fit the output schema. */
function handleAnswer(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
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

/** Ends the run with an answer that was checked, and its verdict: the step of the program judges by that, also if the answer lacks its form. */
export function finishChecked(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  const output = answerOf(response, state.snapshot) ?? thoughtOf(response.content) ?? '';
  return finishWithAnswer(state, ports, { output, final, ...defined({ verdict: response.verdict }) });
}

/** Sends an answer that does not fit back to the model, as often as the agent allows. */
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
 * Tells a model that has answered with text to call `final_answer`: the first time whatever the agent allows, then with the problem and
 * as often as it allows.
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

/** Ends the run with an answer, once the guardrails of the agent have passed it. */
export function finishWithAnswer(state: RunState, ports: RunPorts, answered: Answered): NextStep {
  return guardsAnswers(state.snapshot) ? { type: 'check_output', answered } : acceptAnswer(state, ports, answered);
}

/**
 * Ends the run with an answer. After the step limit, the status still says that the limit ended it. Messages that the run accepted
 * before the answer arrived are answered first, so that no accepted message stays without an answer. `checked`: guardrails have
 * passed it.
 */
export function acceptAnswer(state: RunState, ports: RunPorts, { final, ...answered }: Answered, checked = false): NextStep {
  const shown = checked ? { ...answered, checked: true as const } : answered;
  if (final) return { type: 'finish', ending: { status: 'max_iterations_reached', stopReason: 'step_limit', ...shown } };
  // An interrupted turn of a session reads no more messages: the next one answers them.
  if (state.session !== undefined && ports.cancelRequested()) return endCancelled(state);
  if (takeMessages(state, ports) || endTurn(state, answered.output)) return { type: 'call_model', final: false };
  state.context.finalResult = answered.output;
  return { type: 'finish', ending: { status: 'completed', stopReason: 'final_answer', ...shown } };
}

/** Returns the output of a response: its parts if it contains media, otherwise its text. */
function textOutput(response: RecordedResponse, text: string): JsonValue {
  const parts = response.content.flatMap((item) => (item.type === 'message' && Array.isArray(item.content) ? item.content : []));
  return parts.some((part) => part.type !== 'text') ? (JSON.parse(JSON.stringify(parts)) as JsonValue) : text;
}
