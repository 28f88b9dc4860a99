import { ApplicationFailure } from '@temporalio/common';
import { type BurstView, toBurstState } from '../bursts/burst.ts';
import type { JournalPage, JournalQuestion } from '../domain/activity-messages.ts';
import type { HookedCalls } from '../domain/hooks.ts';
import type { AgentSnapshot } from '../domain/agent.ts';
import { jsonBytes, jsonPiece, WHOLE_BYTES } from '../domain/byte-budgets.ts';
import { isToolCall } from '../domain/content.ts';
import { defined, inboundProblem, type JsonObject, type JsonValue, sha256 } from '../domain/json.ts';
import type { ProgramState } from '../domain/program-run.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import { secondsOf } from '../domain/time.ts';
import { emptyWindow, type Folded, foldedEvent, type Window } from '../domain/window.ts';
import { asRewritten, rewrittenArguments } from '../domain/rewrites.ts';
import { requestOf, sharedDeps } from '../capabilities/children/agent-calls.ts';
import { findEvent } from '../kernel/tool-calls.ts';
import { callOfCode, journalOf } from '../capabilities/code/code-cells.ts';
import { answerAtPoint, hookedCallsOf, hookedResultOf } from '../capabilities/hooks.ts';
import type { ModelCall } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';
import { failureText } from '../program/step-errors.ts';
import { ITEMS_SUFFIX } from '../program/stored-outputs.ts';
import { traceEntries, type TraceEntry, traceNames, type TracePage } from '../program/trace.ts';
import {
  type CallArgumentsQuestion,
  type ChildInputAnswer,
  type ChildInputQuestion,
  type DataView,
  type DecisionContent,
  type DecisionQuestion,
  EVENTS_READ,
  type NewEvents,
  PAGE_BYTES,
  type QUERIES,
  type RecordPage,
  type StepValuesAnswer,
  type StepValuesQuestion,
  type TranscriptAnswer,
  type TranscriptQuestion,
} from '../protocol.ts';
import { approvalsPage, asOfField, contextPage, page, type QueriedRun, statusView, stepsPage, turnView } from './run-views.ts';

/**
 * One kind of query. Both the workflow's handlers and the in-memory run of tests use it, so that an activity gets the same answer from
 * both.
 */
interface QueryKind {
  /** A description for people who send the query from the Temporal UI. */
  readonly description: string;
  /** Answers the query. Must not change anything. Throws an ApplicationFailure if the run cannot answer. */
  answer(run: QueriedRun, argument: never): unknown;
}

/** The argument of a paged query: the index at which the page begins. Any other value means the beginning. */
type From = { from?: number } | null | undefined;

/** The maximum characters of a page: an answer is one payload of at most 2 MiB, and a character has up to three bytes. */
const PAGE_CHARACTERS = 500_000;

/** The queries of a run, by name. */
export const QUERY_KINDS: Readonly<Record<keyof typeof QUERIES, QueryKind>> = {
  status: { description: 'Status, step, usage', answer: statusView },
  context: {
    description: 'The ExecutionContext with a page of its events; {"from": offset}',
    answer: (run, ask: From) => contextPage(run, offsetOf(ask)),
  },
  steps: { description: 'A page of the recorded steps; {"from": index}', answer: (run, ask: From) => stepsPage(run, offsetOf(ask)) },
  record: {
    description: 'The status, and a page of the events and steps; {"from": offset, "step": index}; {"last": number, "bytes": number}',
    answer: (run, ask: RecordQuestion | null | undefined) => recordPage(run, ask ?? {}),
  },
  approvals: {
    description: 'A page of the pending approvals, and the decisions that apply to further calls; {"from": index}',
    answer: (run, ask: From) => approvalsPage(run, offsetOf(ask)),
  },
  trace: {
    description: 'A page of the trace of a program, or the facts for the trace of an agent; {"from": offset}',
    answer: (run, ask: From) => tracePage(run, offsetOf(ask)),
  },
  turn: { description: 'The result of a turn of a session; {"turn": number}, or the call that it answers', answer: turnView },
  burst: {
    description: 'The state that a burst begins with, and why the run waits for its end, for the activities of this run',
    answer: burstView,
  },
  snapshot: { description: 'The agent as pinned for this run', answer: snapshot },
  data: { description: 'Deps and state', answer: dataView },
  callArguments: {
    description: 'The edited arguments of a call, or the arguments of a call of code, for the activities of this run',
    answer: callArguments,
  },
  decision: {
    description: 'The content of a decision whose approver is being checked, for the activities of this run',
    answer: decisionContent,
  },
  hookedCalls: { description: 'The calls that hooks review, for the activities of this run', answer: hookedCalls },
  hookedResult: { description: 'The result of a call whose hooks are called, for the activities of this run', answer: hookedResult },
  stepValues: { description: 'Values of steps of a program, for the activities of this run', answer: stepValues },
  journal: { description: 'The cells that made the namespace of the code, for the activities of this run', answer: journalPage },
  result: { description: 'The result of the run, for the activities of this run', answer: ending },
  childInput: { description: 'The input of a child that a tool call has started, for the activities of that child', answer: childInput },
  transcript: {
    description: 'The conversation, for the activities of this run',
    answer: ({ state }, ask: TranscriptQuestion | undefined) => transcriptPage(state, ask),
  },
};

/** Answers a query. Throws an ApplicationFailure if the run cannot answer it. */
export function answerQuery(run: QueriedRun, name: keyof typeof QUERIES, argument: unknown): unknown {
  const problem = inboundProblem(argument);
  if (problem === undefined) return QUERY_KINDS[name].answer(run, argument as never);
  throw ApplicationFailure.create({ type: 'invalid_input', message: `Run "${run.runId}" refused the query "${name}": ${problem}` });
}

function offsetOf(ask: From): number {
  return typeof ask?.from === 'number' && ask.from > 0 ? Math.floor(ask.from) : 0;
}

function burstView({ state, burst, inbox }: QueriedRun): BurstView {
  return {
    state: state === undefined ? null : toBurstState(state),
    isCancelled: burst?.isCancelled === true,
    isInterrupted: inbox.isInterrupted,
  };
}

function snapshot(run: QueriedRun): AgentSnapshot {
  if (run.snapshot !== undefined) return run.snapshot;
  throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has not resolved agent "${run.agentName}" yet` });
}

/** Returns the result of the run, or null if it has not ended or its worker has no `notifyEnded`. */
function ending({ result }: QueriedRun): RunResultFields | null {
  return result ?? null;
}

function dataView({ state, deps, document, input, principal: given }: QueriedRun): DataView {
  const principal = state === undefined ? given : state.principal;
  const data = { deps: state?.deps ?? deps, state: state?.context.state ?? {}, ...defined({ principal }) };
  if (state !== undefined) return { ...data, ...defined({ answer: answerAtPoint(state) }) };
  return { ...data, ...defined({ document, input }) };
}

/**
 * Returns the edited arguments of a call, or the arguments of a call made by code. Throws if there are none, so that the call does not run
 * with empty arguments.
 */
function callArguments({ runId, state }: QueriedRun, { callId }: CallArgumentsQuestion): JsonObject {
  const approved = state?.approvals.approved.find((one) => one.callId === callId)?.arguments;
  if (approved !== undefined) return approved;
  const rewritten = state === undefined ? undefined : rewrittenArguments(state, callId);
  if (rewritten !== undefined) return rewritten;
  const ofCode = state && callOfCode(state, callId);
  if (ofCode !== undefined) return ofCode.arguments;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no decided arguments for call "${callId}"` });
}

/** Returns the calls that hooks are reviewing. */
function hookedCalls({ runId, state }: QueriedRun): HookedCalls {
  const calls = state && hookedCallsOf(state);
  if (calls !== undefined) return calls;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" calls no hooks before calls` });
}

function hookedResult({ runId, state }: QueriedRun, { callId }: CallArgumentsQuestion): JsonValue[] {
  const content = state && hookedResultOf(state, callId);
  if (content !== undefined) return content;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" calls no hooks for call "${callId}"` });
}

function decisionContent({ authorizing }: QueriedRun, { id }: DecisionQuestion): DecisionContent {
  const { arguments: edited, content } = authorizing.get(id) ?? {};
  return defined({ arguments: edited, content });
}

/** Answers the `journal` query: one page of the JSON text of the journal, of one of its cells, or of the results of a segment. */
function journalPage({ runId, state }: QueriedRun, question: JournalQuestion | null | undefined): JournalPage {
  const { from, cell, segment } = question ?? { from: 0 };
  const journal = (state && journalOf(state)) ?? { cells: [] };
  const asked = cell === undefined ? undefined : journal.cells[cell];
  const part = segment === undefined ? asked : asked?.segments[segment]?.results;
  if (cell !== undefined && part === undefined) {
    const message = `Run "${runId}" has no cell ${cell}${segment === undefined ? '' : ` with results of segment ${segment}`} in its journal`;
    throw ApplicationFailure.create({ type: 'not_ready', message });
  }
  const text = JSON.stringify(part ?? journal);
  const start = typeof from === 'number' ? from : 0;
  return { text: text.slice(start, start + PAGE_CHARACTERS), total: text.length };
}

/** Answers the `childInput` query with the input and deps of the agent that a call has started, while it runs. */
function childInput({ runId, state }: QueriedRun, ask: Partial<ChildInputQuestion> | null | undefined): ChildInputAnswer {
  const { eventId = '', index = -1 } = ask ?? {};
  const item = state === undefined ? undefined : findEvent(state, eventId)?.content[index];
  const call = item !== undefined && isToolCall(item) ? item : undefined;
  const agent = state?.snapshot.tools.find(({ name }) => name === call?.name)?.agent;
  if (state === undefined || call === undefined || agent === undefined) {
    throw ApplicationFailure.create({
      type: 'unknown_call',
      message: `Run "${runId}" has no call ${index} of event "${eventId}" that runs an agent`,
    });
  }
  const edited = state.approvals.approved.find(({ callId }) => callId === call.toolCallId)?.arguments;
  const input = requestOf(state, agent, edited ?? asRewritten(state, call).arguments);
  // Input in the form of parts is already in the agent's input.
  return { ...(typeof input === 'string' ? { input } : {}), deps: sharedDeps(agent, state.deps) };
}

/**
 * Answers the `trace` query with events of this execution. A page that would begin before them begins with the first. The reader builds an
 * agent's trace from its events and steps, so its page has no lines.
 */
function tracePage({ runId, agentName, startedAt, state }: QueriedRun, from: number): TracePage {
  const head = { version: 1 as const, runId, startTime: startedAt / 1000 };
  if (state === undefined) {
    return { ...head, programName: agentName, backendName: '', firstOffset: 0, from, next: from, total: 0, entries: [] };
  }
  const { program, firstOffset, context } = state;
  if (program === undefined) {
    const { model } = state.snapshot;
    return { ...head, programName: agentName, backendName: '', model, firstOffset, from, next: from, total: 0, entries: [] };
  }
  const { document } = program;
  const first = Math.max(from, firstOffset);
  const entries: TraceEntry[] = [];
  let next = first;
  let bytes = 0;
  for (const event of context.events.slice(first - firstOffset)) {
    const own = traceEntries(document, event);
    bytes += jsonBytes(own);
    if (bytes > PAGE_BYTES && next > first) break;
    entries.push(...own);
    next += 1;
  }
  const last = context.events.at(-1);
  return {
    ...head,
    ...traceNames(document),
    ...(last === undefined ? {} : { endTime: secondsOf(last.timestamp) }),
    firstOffset,
    from: first,
    next,
    total: firstOffset + context.events.length,
    entries,
  };
}

/** A window that the activity has. */
type Known = TranscriptQuestion['known'][number];

/**
 * Returns the part of the conversation that an activity lacks: the events since a window that it has, or the whole window if the run knows
 * none of the activity's windows.
 */
export function transcriptPage(state: RunState | undefined, ask: TranscriptQuestion | undefined): TranscriptAnswer {
  if (state === undefined) return { type: 'window', ...emptyWindow(), from: 0, total: 0 };
  const { window } = state;
  const from = ask?.from ?? 0;
  const position = { through: window.through, lastEventId: window.lastEventId, from };
  for (const known of ask?.known ?? []) {
    const events = eventsSince(state, known);
    if (events !== undefined)
      return { ...position, type: 'events', since: known.through, total: events.length, events: page(events, from) };
  }
  const { usedCallIds } = window;
  return { ...position, type: 'window', total: window.events.length, events: page(window.events, from), ...defined({ usedCallIds }) };
}

/**
 * Returns the events after the activity's last one, or undefined if they are unknown or too large. After a compaction, the window may be
 * smaller than the events.
 */
function eventsSince(state: RunState, known: Known): Folded[] | undefined {
  const events = recordedSince(state, known) ?? foldedSince(state.window, known);
  return events === undefined || jsonBytes(events) > PAGE_BYTES ? undefined : events;
}

/** Finds the events in the record of this execution, if the activity's last event is in it or right before it. */
function recordedSince({ context, firstOffset, carriedEventId }: RunState, { through, lastEventId }: Known): Folded[] | undefined {
  const index = through - firstOffset;
  const id = index === 0 ? carriedEventId : context.events[index - 1]?.id;
  return id !== undefined && id === lastEventId ? context.events.slice(index).map(foldedEvent) : undefined;
}

/**
 * Finds the events in the window, if the activity's last event is from an earlier execution. Requires that every later event is in the
 * window in record order: a compaction's event is not in it, or is at another index.
 */
function foldedSince({ events, through }: Window, known: Known): Folded[] | undefined {
  const index = events.findIndex(({ offset, id }) => offset === known.through - 1 && id === known.lastEventId);
  const since = index < 0 ? [] : events.slice(index + 1);
  if (index < 0 || since.length !== through - known.through) return undefined;
  return since.every(({ offset }, count) => offset === known.through + count) ? since.map(foldedEvent) : undefined;
}

/** Answers an activity of a program that lacks values. Throws an ApplicationFailure if the run no longer has any of them. */
export function stepValues(run: QueriedRun, question: StepValuesQuestion | null): StepValuesAnswer {
  const { outputs: addresses = [], step, piece } = question ?? {};
  const program = run.state?.program;
  if (program === undefined) {
    // The activity that pins the program requests it before there is a state.
    if (run.programInput !== undefined) return { program: run.programInput };
    throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has no program yet` });
  }
  const state = step === undefined ? undefined : program.steps.get(step);
  const { failure, approved } = state?.progress ?? {};
  return {
    ...(question?.program ? { program: { input: program.input } } : {}),
    ...(addresses.length === 0 ? {} : outputsOf(run, program, addresses)),
    ...(failure === undefined ? {} : { failure: failureText(failure.error) }),
    ...defined({ edited: approved?.arguments }),
    ...(piece === undefined ? {} : { piece: jsonPiece(valueAt(program, piece.address) ?? missing(run, piece.address), piece.from) }),
  };
}

/** Returns as many of the outputs as fit into a page, in order: each as its value, its location, or a mark that it is too long. */
function outputsOf(run: QueriedRun, program: ProgramState, addresses: readonly string[]): StepValuesAnswer {
  const outputs: Record<string, JsonValue> = {};
  const spilled: NonNullable<StepValuesAnswer['spilled']> = {};
  const long: string[] = [];
  let bytes = 0;
  for (const address of addresses) {
    const output = valueAt(program, address);
    const location = program.steps.get(address)?.spilled;
    if (output === undefined && location === undefined) missing(run, address);
    const own = jsonBytes(output ?? location);
    if (output !== undefined && own > WHOLE_BYTES) {
      long.push(address);
      continue;
    }
    bytes += own;
    if (bytes > PAGE_BYTES && bytes > own) break;
    if (output !== undefined) outputs[address] = output;
    else if (location !== undefined) spilled[address] = location;
  }
  return {
    ...(Object.keys(outputs).length === 0 ? {} : { outputs }),
    ...(Object.keys(spilled).length === 0 ? {} : { spilled }),
    ...(long.length === 0 ? {} : { long }),
  };
}

/** Returns the output at an address, or the unstored outputs of a `forEach`'s items. */
function valueAt({ steps }: ProgramState, address: string): JsonValue | undefined {
  return address.endsWith(ITEMS_SUFFIX) ? steps.get(address.slice(0, -ITEMS_SUFFIX.length))?.items : steps.get(address)?.output;
}

function missing({ runId }: QueriedRun, address: string): never {
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no output of "${address}"` });
}

/** Argument of the `record` query. Any other value means the beginning. */
export interface RecordQuestion {
  /** Offset of the first event to return. */
  from?: unknown;
  /** Index of the first step to return. */
  step?: unknown;
  /** The maximum total bytes of JSON of the events: for code of the user, which gets a bounded number of events. */
  bytes?: unknown;
  /** Only with `bytes`: the number of newest events to return. */
  last?: unknown;
  /** False: no steps. */
  steps?: unknown;
}

/** Bytes of events and steps in one answer, which is one payload of at most 2 MiB. */
const ANSWER_BYTES = 1_800_000;

/** Answers the `record` query with events and steps of this execution. A page that would begin before them begins with the first. */
export function recordPage({ state, burst }: QueriedRun, question: RecordQuestion): RecordPage {
  const { events = [], currentStep: counted = 0 } = state?.context ?? {};
  // A program counts its model calls as steps, but has no agent steps.
  const currentStep = state?.program === undefined ? counted : 0;
  const { steps = [], firstOffset = 0, status = 'running' } = state ?? {};
  const firstStep = currentStep - steps.length;
  const paged =
    question.bytes === undefined ? wholePage(events, pageIndex(question.from) - firstOffset) : boundedPage(events, firstOffset, question);
  return {
    version: 1,
    status,
    firstOffset,
    from: firstOffset + paged.index,
    events: paged.events,
    ...(paged.cut ? { cut: true } : {}),
    total: firstOffset + events.length,
    firstStep,
    steps: question.steps === false ? [] : page(steps, pageIndex(question.step) - firstStep, ANSWER_BYTES - jsonBytes(paged.events)),
    totalSteps: currentStep,
    ...asOfField(burst),
  };
}

interface PagedEvents {
  /** The index of the first event. */
  index: number;
  events: Event[];
  cut?: true;
}

function wholePage(events: readonly Event[], from: number): PagedEvents {
  return { index: Math.max(0, from), events: page(events, from) };
}

/** Returns the newest events, or the events from an offset on, within the bounds for code of the user. */
function boundedPage(events: readonly Event[], firstOffset: number, { from, last, bytes }: RecordQuestion): PagedEvents {
  const start = Math.max(0, pageIndex(from) - firstOffset);
  const most = Math.min(pageIndex(bytes), EVENTS_READ.mostBytes);
  if (last === undefined) {
    const wanted = events.slice(start, start + EVENTS_READ.events);
    const fitting = within(wanted, most);
    return { index: start, events: fitting, ...(fitting.length < wanted.length ? { cut: true } : {}) };
  }
  const newest = events.slice(start).slice(-Math.min(pageIndex(last), EVENTS_READ.mostEvents));
  const fitting = within(newest.toReversed(), most).toReversed();
  return { index: events.length - fitting.length, events: fitting, ...(fitting.length < newest.length ? { cut: true } : {}) };
}

/** Returns the first events with at most this many bytes in total. */
function within(events: readonly Event[], most: number): Event[] {
  let bytes = 0;
  const over = events.findIndex((event) => (bytes += jsonBytes(event)) > most);
  return events.slice(0, over < 0 ? events.length : over);
}

function pageIndex(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.floor(value) : 0;
}

/** The maximum bytes of JSON that are handed over. The digest of more would cost the sandbox as much as the query that it saves. */
const MAX_NEWS_BYTES = 64_000;

/**
 * Returns the events that a model call is the first to see, for the worker process. Undefined if that process's activities have most likely
 * produced all of them, or if they are too large.
 */
export function newEvents(state: RunState | undefined, { through, resultIds }: ModelCall): NewEvents | undefined {
  if (state === undefined || resultIds !== undefined) return undefined;
  const { context, firstOffset, carriedEventId, seenEvents } = state;
  const index = Math.max(0, seenEvents - firstOffset);
  const sinceEventId = index === 0 ? (carriedEventId ?? '') : context.events[index - 1]?.id;
  const events = context.events.slice(index).map(foldedEvent);
  if (sinceEventId === undefined || events.length === 0 || jsonBytes(events) > MAX_NEWS_BYTES) return undefined;
  return { since: through - events.length, sinceEventId, events, digest: digestOf(events) };
}

/** Returns 64 bits of the SHA-256 of events, in hexadecimal digits. */
function digestOf(events: NewEvents['events']): string {
  const [first = 0, second = 0] = sha256(JSON.stringify(events));
  return first.toString(16).padStart(8, '0') + second.toString(16).padStart(8, '0');
}
