import { ApplicationFailure } from '@temporalio/common';
import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import { givenProblem } from '../domain/json/given-value.ts';
import type { JsonObject } from '../domain/json/json.ts';
import type { RunResultFields } from '../domain/run/run-result.ts';
import type { CallArgumentsQuestion, DataView, DecisionContent, DecisionQuestion, QUERIES, TranscriptQuestion } from '../protocol.ts';
import type { AskedRun } from './asked-run.ts';
import { approvalsPage, contextPage, statusView, stepsPage } from './views.ts';
import { transcriptPage } from './transcript-page.ts';

/**
 * What a run answers when it is asked. Used where a run happens (the handlers of its workflow) and where a test plays
 * its part, so that an activity hears the same.
 */
interface QueryKind {
  /** For the person who asks from the Temporal UI. */
  readonly description: string;
  /** Must only look. Throws an ApplicationFailure for what the run cannot answer. */
  answer(run: AskedRun, question: never): unknown;
}

/** Where the caller wants a page to begin. Anything but a number means the beginning. */
type From = { from?: number } | null | undefined;

/** The queries of a run, by name. */
export const QUERY_KINDS: Readonly<Record<keyof typeof QUERIES, QueryKind>> = {
  status: { description: 'Status, step, usage', answer: statusView },
  context: {
    description: 'The ExecutionContext with a page of its events; {"from": offset}',
    answer: (run, ask: From) => contextPage(run, offset(ask)),
  },
  steps: { description: 'A page of the recorded steps; {"from": index}', answer: (run, ask: From) => stepsPage(run, offset(ask)) },
  approvals: {
    description: 'A page of what waits for a decision, and the decisions that hold for further calls; {"from": index}',
    answer: (run, ask: From) => approvalsPage(run, offset(ask)),
  },
  snapshot: { description: 'The agent as pinned for this run', answer: snapshot },
  data: { description: 'Deps and state', answer: dataView },
  callArguments: { description: 'The arguments of a call as they were decided, for the activities of this run', answer: callArguments },
  decision: {
    description: 'The content of a decision whose author is being checked, for the activities of this run',
    answer: decisionContent,
  },
  result: { description: 'How the run has ended, for the activities of this run', answer: ending },
  transcript: {
    description: 'The conversation, for the activities of this run',
    answer: ({ state }, ask: TranscriptQuestion | undefined) => transcriptPage(state, ask),
  },
};

/** What the run answers. Throws an ApplicationFailure for what it cannot answer. */
export function answerQuery(run: AskedRun, name: keyof typeof QUERIES, question: unknown): unknown {
  const problem = givenProblem(question);
  if (problem === undefined) return QUERY_KINDS[name].answer(run, question as never);
  throw ApplicationFailure.create({ type: 'invalid_input', message: `Run "${run.runId}" refused the query "${name}": ${problem}` });
}

function offset(ask: From): number {
  return typeof ask?.from === 'number' && ask.from > 0 ? Math.floor(ask.from) : 0;
}

function snapshot(run: AskedRun): AgentSnapshot {
  if (run.snapshot !== undefined) return run.snapshot;
  throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has not resolved agent "${run.agentName}" yet` });
}

/** Null for a run that has not ended, or tells nobody of its end. */
function ending({ result }: AskedRun): RunResultFields | null {
  return result ?? null;
}

function dataView({ state, deps }: AskedRun): DataView {
  return { deps: state?.deps ?? deps, state: state?.context.state ?? {} };
}

/** Another call than was decided must not run with nothing. */
function callArguments({ runId, state }: AskedRun, { callId }: CallArgumentsQuestion): JsonObject {
  const approved = state?.approvals.approved.find((one) => one.callId === callId)?.arguments;
  if (approved !== undefined) return approved;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no decided arguments for call "${callId}"` });
}

function decisionContent({ authorizing }: AskedRun, { id }: DecisionQuestion): DecisionContent {
  const { arguments: edited, content } = authorizing.get(id) ?? {};
  return { ...(edited === undefined ? {} : { arguments: edited }), ...(content === undefined ? {} : { content }) };
}
