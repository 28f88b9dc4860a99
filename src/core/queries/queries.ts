import { ApplicationFailure } from '@temporalio/common';
import { rewrittenArguments } from '../loop/hooks/rewritten-arguments.ts';
import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import { isToolCall } from '../domain/content/content.ts';
import type { HookedCalls } from '../domain/hooks/hook-messages.ts';
import { inboundProblem } from '../domain/json/inbound-value.ts';
import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import type { RunResultFields } from '../domain/run/result.ts';
import type { CallArgumentsQuestion, DataView, DecisionContent, DecisionQuestion, QUERIES, TranscriptQuestion } from '../protocol.ts';
import { childInput } from './child-input.ts';
import { journalPage } from './journal-page.ts';
import type { QueriedRun } from './queried-run.ts';
import { recordPage, type RecordQuestion } from './record-page.ts';
import { turnView } from './session-views.ts';
import { approvalsPage, contextPage, statusView, stepsPage } from './views.ts';
import { stepValues } from './step-values.ts';
import { tracePage } from './trace-page.ts';
import { transcriptPage } from './transcript-page.ts';

/**
 * One kind of query. The handlers of the workflow use it, and so does the in-memory run of tests, so that an activity gets the same
 * answer from both.
 */
interface QueryKind {
  /** Description for a person who sends the query from the Temporal UI. */
  readonly description: string;
  /** Answers the query. Must not change anything. Throws an ApplicationFailure if the run cannot answer. */
  answer(run: QueriedRun, argument: never): unknown;
}

/** The argument of a query with pages: the index at which the page begins. Any other value means the beginning. */
type From = { from?: number } | null | undefined;

/** The queries of a run, by name. */
export const QUERY_KINDS: Readonly<Record<keyof typeof QUERIES, QueryKind>> = {
  status: { description: 'Status, step, usage', answer: statusView },
  context: {
    description: 'The ExecutionContext with a page of its events; {"from": offset}',
    answer: (run, ask: From) => contextPage(run, offset(ask)),
  },
  steps: { description: 'A page of the recorded steps; {"from": index}', answer: (run, ask: From) => stepsPage(run, offset(ask)) },
  record: {
    description: 'The status, and a page of the events and steps; {"from": offset, "step": index}; {"last": number, "bytes": number}',
    answer: (run, ask: RecordQuestion | null | undefined) => recordPage(run, ask ?? {}),
  },
  approvals: {
    description: 'A page of the pending approvals, and the decisions that apply to further calls; {"from": index}',
    answer: (run, ask: From) => approvalsPage(run, offset(ask)),
  },
  trace: {
    description: 'A page of the trace of a program, or the facts about that of an agent; {"from": offset}',
    answer: (run, ask: From) => tracePage(run, offset(ask)),
  },
  turn: { description: 'The result of a turn of a session; {"turn": number}', answer: turnView },
  snapshot: { description: 'The agent as pinned for this run', answer: snapshot },
  data: { description: 'Deps and state', answer: dataView },
  callArguments: {
    description: 'The edited arguments of a call, or those of a call of code, for the activities of this run',
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

function offset(ask: From): number {
  return typeof ask?.from === 'number' && ask.from > 0 ? Math.floor(ask.from) : 0;
}

function snapshot(run: QueriedRun): AgentSnapshot {
  if (run.snapshot !== undefined) return run.snapshot;
  throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has not resolved agent "${run.agentName}" yet` });
}

/** Returns the result of the run; null if it has not ended, or has no `notifyEnded` hook. */
function ending({ result }: QueriedRun): RunResultFields | null {
  return result ?? null;
}

function dataView({ state, deps, document, input, principal: given }: QueriedRun): DataView {
  const principal = state === undefined ? given : state.principal;
  const data = { deps: state?.deps ?? deps, state: state?.context.state ?? {}, ...(principal === undefined ? {} : { principal }) };
  if (state !== undefined) return state.pendingAnswer === undefined ? data : { ...data, answer: state.pendingAnswer };
  return { ...data, ...(document === undefined ? {} : { document }), ...(input === undefined ? {} : { input }) };
}

/** Returns the edited arguments of a call, or those of a call that code waits for. Throws if there are none, so that the call does not run with empty arguments. */
function callArguments({ runId, state }: QueriedRun, { callId }: CallArgumentsQuestion): JsonObject {
  const approved = state?.approvals.approved.find((one) => one.callId === callId)?.arguments;
  if (approved !== undefined) return approved;
  const rewritten = state === undefined ? undefined : rewrittenArguments(state, callId);
  if (rewritten !== undefined) return rewritten;
  const ofCode = state?.code?.calls?.content.filter(isToolCall).find(({ toolCallId }) => toolCallId === callId);
  if (ofCode !== undefined) return ofCode.arguments;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no decided arguments for call "${callId}"` });
}

/** Returns the calls that hooks review. */
function hookedCalls({ runId, state }: QueriedRun): HookedCalls {
  if (state?.hookedCalls !== undefined) return state.hookedCalls;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" calls no hooks before calls` });
}

/** Returns the result of a call whose hooks are called. */
function hookedResult({ runId, state }: QueriedRun, { callId }: CallArgumentsQuestion): JsonValue[] {
  const found = state?.hookedResults?.find((one) => one.callId === callId);
  if (found !== undefined) return found.content;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" calls no hooks for call "${callId}"` });
}

function decisionContent({ authorizing }: QueriedRun, { id }: DecisionQuestion): DecisionContent {
  const { arguments: edited, content } = authorizing.get(id) ?? {};
  return { ...(edited === undefined ? {} : { arguments: edited }), ...(content === undefined ? {} : { content }) };
}
