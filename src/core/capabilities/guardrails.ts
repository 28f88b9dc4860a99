import type { ToolCall } from '../domain/content.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import { blockedText, type GuardrailNote, type GuardrailReport, type GuardrailSpent, refusalIn } from '../domain/guardrails.ts';
import type { Event } from '../domain/record.ts';
import { COUNT } from '../domain/shape.ts';
import { addEstimated, addReported, priced } from '../domain/usage.ts';
import { isMessageOfUser } from '../domain/window.ts';
import type { AfterModelCall, BesideModelCall, Capability, MadeCalls } from '../kernel/capability.ts';
import { addSpending, recordFailedCall, recordInterrupted } from '../kernel/limits.ts';
import { endCancelled, type Ending, type NextStep } from '../kernel/next-step.ts';
import type { ModelCallOutcome, RunPorts } from '../kernel/ports.ts';
import { recordEvent, type RunClock, type RunState, slice } from '../kernel/run-state.ts';
import type { AgentSnapshot } from '../domain/agent.ts';
import { askedAt, checksAnswers, type ConversationPoint, timeAt } from '../domain/parts.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { askAboutAnswer, type HookPorts, type PointAnswer, type PointQuestion } from './hooks.ts';

// Capability: checks of messages, of calls, and of answers.

/** The name under which a worker reports the findings of guardrails at a point. */
const NAME = 'guardrails';

const guardsInput = (snapshot: RunState['snapshot']): boolean => askedAt(snapshot, 'input').length > 0;

/** The offset of the first unchecked message. Undefined if all are checked, or the agent has no input guardrails. */
const uncheckedFrom = slice<number>('uncheckedFrom', COUNT, { initial: (snapshot) => (guardsInput(snapshot) ? 0 : undefined) });

/** Returns the names of the checks that run at a point, and their time limit. */
function asked(snapshot: AgentSnapshot, type: ConversationPoint): Pick<PointQuestion, 'names' | 'timeoutMs'> {
  return { names: askedAt(snapshot, type).map(({ name }) => name), timeoutMs: timeAt(snapshot, type) };
}

// Capability: the record of checks, and their cost.

/** Adds the cost of checks to the usage of the run, and returns the report with its price. */
function spendOnGuardrails(state: RunState, { findings, spent }: GuardrailReport): GuardrailReport {
  if (spent === undefined) return { findings };
  return { findings, spent: spent.map((one) => spendOnModel(state, one)) };
}

function spendOnModel(state: RunState, { model, calls, reported, estimated }: GuardrailSpent): GuardrailSpent {
  const cost = {
    ...(reported === undefined ? {} : { reported: priced(state.snapshot.prices, model, reported) }),
    ...(estimated === undefined ? {} : { estimated: priced(state.snapshot.prices, model, estimated) }),
  };
  addSpending(state, (total) => {
    const usage = addEstimated(addReported(total, cost.reported ?? null), cost.estimated);
    return { ...usage, llmCalls: usage.llmCalls + calls };
  });
  return { model, calls, ...cost };
}

/** Records checks in a separate event, unless they have found nothing and cost nothing. */
function recordReport(state: RunState, clock: RunClock, report: GuardrailNote | undefined): void {
  if (report === undefined || (report.findings.length === 0 && report.spent === undefined)) return;
  const { blocked } = report;
  const guardrails = { ...spendOnGuardrails(state, report), ...defined({ blocked }) };
  recordEvent(state, clock, { author: state.snapshot.name, content: [], guardrails });
}

/** Returns the report of checks, including those by hooks. If their activity failed, each check counts as failed. */
function reportOf({ snapshot }: RunState, type: ConversationPoint, outcome: PointAnswer): GuardrailReport {
  if (outcome.type !== 'failed') {
    const { [NAME]: own, hooks } = (outcome.found ?? {}) as Partial<Record<string, GuardrailReport>>;
    return { findings: [...(own?.findings ?? []), ...(hooks?.findings ?? [])], ...defined({ spent: own?.spent }) };
  }
  const findings = askedAt(snapshot, type).map(({ name, failOpen }) => ({
    name,
    type,
    outcome: failOpen ? ('failed_open' as const) : ('failed' as const),
    message: outcome.message,
  }));
  return { findings };
}

/** Returns the end of the run if the checks refuse to continue. A guardrail or hook that no worker has always ends it. */
function endByGuardrail(outcome: PointAnswer, report: GuardrailReport): Extract<NextStep, { type: 'finish' }> | undefined {
  const refusal = refusalIn(report);
  if (outcome.type === 'failed' && (outcome.code === 'unknown_guardrail' || outcome.code === 'unknown_hook')) {
    const ending: Ending = { status: 'error', stopReason: 'error', output: '', error: outcome };
    return { type: 'finish', ending };
  }
  if (refusal === undefined) return undefined;
  const { name, type, message } = refusal;
  const ending: Ending = {
    status: 'error',
    stopReason: 'guardrail',
    output: blockedText(refusal),
    error: { code: 'guardrail_tripped', message },
    parts: { guardrail: { name, type, message } },
  };
  return { type: 'finish', ending };
}

// Capability: the check of messages that the model has not read.

/**
 * Begins the check of unchecked messages, in parallel with the model call that reads them: if a guardrail trips, the call is given up.
 * Returns undefined if all messages are checked.
 */
function beginInputCheck(state: RunState, ports: HookPorts): Promise<PointAnswer> | undefined {
  const from = uncheckedFrom.of(state);
  if (from === undefined) return undefined;
  const { through, lastEventId } = state.window;
  return ports.askAtPoint({ point: 'input', from, through, lastEventId, ...asked(state.snapshot, 'input') }).then((outcome) => {
    if (endByGuardrail(outcome, reportOf(state, 'input', outcome)) !== undefined) ports.abortModelCall();
    return outcome;
  });
}

/**
 * Waits for the check that runs in parallel with the model call. If the messages do not pass, the call counts as given up: its answer is
 * not a step, and none of its tool calls starts.
 */
async function endInputCheck(
  state: RunState,
  ports: RunPorts,
  checking: Promise<PointAnswer>,
  answered?: ModelCallOutcome,
): Promise<AfterModelCall> {
  const outcome = await checking;
  const report = reportOf(state, 'input', outcome);
  const ended = outcome.type === 'cancelled' ? endCancelled(state) : endByGuardrail(outcome, report);
  const from = uncheckedFrom.of(state) ?? state.window.through;
  // The messages of an interrupted turn stay in the conversation: the next turn of the session checks them.
  if (outcome.type !== 'cancelled') uncheckedFrom.clear(state);
  // Recorded after the answer, so that the answer has the offset that its activity expects.
  if (ended === undefined) return { record: () => recordReport(state, ports, report) };
  if (answered !== undefined) recordUnread(state, ports, answered);
  const blocked = outcome.type === 'cancelled' ? undefined : offsetsFrom(state, from);
  recordReport(state, ports, { ...report, ...defined({ blocked }) });
  return { instead: ended };
}

function checkBesideModelCall(state: RunState, ports: HookPorts): BesideModelCall | undefined {
  const checking = beginInputCheck(state, ports);
  return checking === undefined ? undefined : { ended: (outcome) => endInputCheck(state, ports, checking, outcome) };
}

/** Checks messages before anything else reads them: a compaction would remove them from the window, or send them to a model. */
function checkInputFirst(state: RunState, ports: HookPorts): Promise<NextStep | undefined> | undefined {
  const checking = beginInputCheck(state, ports);
  return checking === undefined ? undefined : endInputAlone(state, ports, checking);
}

async function endInputAlone(state: RunState, ports: RunPorts, checking: Promise<PointAnswer>): Promise<NextStep | undefined> {
  const checked = await endInputCheck(state, ports, checking);
  if ('instead' in checked) return checked.instead;
  checked.record();
  return undefined;
}

/** Records the partial answer of a model call whose messages did not pass, and its cost. */
function recordUnread(state: RunState, ports: RunPorts, outcome: ModelCallOutcome): void {
  const { model } = state.snapshot;
  if (outcome.type === 'failed') recordFailedCall(state, ports, model, outcome);
  else if (outcome.type === 'response') recordInterrupted(state, ports, model, outcome.response);
  else if (outcome.partial) recordInterrupted(state, ports, model, outcome.partial);
}

/** Returns the offsets of the messages that did not pass and of all later events. */
function offsetsFrom({ window }: RunState, from: number): number[] {
  return window.events.filter(({ offset }) => offset >= from).map(({ offset }) => offset);
}

// Capability: the check of an answer before it counts.

/** Checks an answer in one activity, which queries it. Returns the end of the run if it does not pass. */
async function checkAnswer(state: RunState, ports: HookPorts, answer: JsonValue): Promise<NextStep | undefined> {
  const outcome = await askAboutAnswer(state, ports, asked(state.snapshot, 'output'), answer);
  const report = reportOf(state, 'output', outcome);
  const ended = outcome.type === 'cancelled' ? endCancelled(state) : endByGuardrail(outcome, report);
  const blocked = ended === undefined || outcome.type === 'cancelled' ? undefined : answerOffsets(state);
  recordReport(state, ports, { ...report, ...defined({ blocked }) });
  return ended;
}

/** Returns the offsets of the response with the answer, and of its calls' results, which make no sense without it. */
function answerOffsets({ window }: RunState): number[] {
  const { events } = window;
  const index = events.findLastIndex(({ content }) =>
    content.some((item) => item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant')),
  );
  return index < 0 ? [] : events.slice(index).map(({ offset }) => offset);
}

/** Returns the ending without an unchecked output: an agent with checked answers shows no partial answer either. */
function withoutUncheckedOutput({ snapshot }: RunState, ending: Ending): Ending {
  return checksAnswers(snapshot) && !ending.checked && ending.parts?.guardrail === undefined ? { ...ending, output: '' } : ending;
}

function reportedOn(state: RunState, { guardrails }: MadeCalls): Partial<Event> {
  return guardrails === undefined ? {} : { guardrails: spendOnGuardrails(state, guardrails) };
}

/** Returns the findings of two reviews of the same calls. */
function withFindings({ guardrails: before }: RecordedResponse, { guardrails: now }: Partial<RecordedResponse>): Partial<RecordedResponse> {
  return now === undefined ? {} : { guardrails: { findings: [...(before?.findings ?? []), ...now.findings] } };
}

function isRefused({ guardrails }: MadeCalls, { toolCallId }: ToolCall): boolean {
  return (
    guardrails !== undefined && refusalIn({ findings: guardrails.findings.filter(({ callId }) => callId === toolCallId) }) !== undefined
  );
}

export const guardrails: Capability<HookPorts> = {
  name: NAME,
  slices: [uncheckedFrom],
  messagesTaken(state) {
    if (guardsInput(state.snapshot) && uncheckedFrom.of(state) === undefined) uncheckedFrom.set(state, state.window.through);
  },
  agentSwitched(state) {
    if (!guardsInput(state.snapshot) || uncheckedFrom.of(state) !== undefined) return;
    // In a flow, messages that came after the last agent's answer are new to this one.
    const unread = state.window.events.find((event) => event.offset >= state.seenEvents && isMessageOfUser(event));
    if (unread !== undefined) uncheckedFrom.set(state, unread.offset);
  },
  beforeRoomIsMade: checkInputFirst,
  duringModelCall: checkBesideModelCall,
  answerParts: ({ snapshot }) => (checksAnswers(snapshot) ? { guarded: true } : {}),
  madeParts: reportedOn,
  callsReviewed: withFindings,
  refuses: isRefused,
  isAnswerChecked: ({ snapshot }) => checksAnswers(snapshot),
  answerGiven: checkAnswer,
  endingShown: withoutUncheckedOutput,
};
