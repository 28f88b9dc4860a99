import { ApplicationFailure } from '@temporalio/common';
import { defineQuery, setHandler } from '@temporalio/workflow';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import { newExecutionContext } from '../src/domain/execution-context.ts';
import type { JsonObject } from '../src/domain/json.ts';
import {
  type ApprovalsPage,
  type CallArgumentsQuestion,
  type ContextPage,
  type DataView,
  type DecisionContent,
  type DecisionQuestion,
  QUERIES,
  scopedName,
  type StatusView,
  type StepsPage,
  type TranscriptAnswer,
  type TranscriptQuestion,
} from '../src/protocol.ts';
import { approvalViews } from '../src/loop/approval-view.ts';
import { runProgress } from '../src/loop/run-progress.ts';
import type { LiveRun } from './live-run.ts';
import { page } from './pages.ts';
import { transcriptPage } from './transcript-page.ts';

/** Where the caller wants a page to begin. Anything but a number means the beginning. */
interface From {
  from?: number;
}

/** Registers the queries of a run. Must be called before the first await: a query may come with the first task. */
export function registerQueries(run: LiveRun): void {
  const name = (query: string): string => scopedName(query, run.key);
  setHandler(defineQuery(name(QUERIES.status)), () => statusView(run), { description: 'Status, step, usage' });
  setHandler(defineQuery<ContextPage, [From?]>(name(QUERIES.context)), (ask) => contextPage(run, offset(ask)), {
    description: 'The ExecutionContext with a page of its events; {"from": offset}',
  });
  setHandler(defineQuery<StepsPage, [From?]>(name(QUERIES.steps)), (ask) => stepsPage(run, offset(ask)), {
    description: 'A page of the recorded steps; {"from": index}',
  });
  setHandler(defineQuery<ApprovalsPage, [From?]>(name(QUERIES.approvals)), (ask) => approvalsPage(run, offset(ask)), {
    description: 'A page of what waits for a decision, and the decisions that hold for further calls; {"from": index}',
  });
  setHandler(defineQuery<AgentSnapshot>(name(QUERIES.snapshot)), () => snapshot(run), {
    description: 'The agent as pinned for this run',
  });
  setHandler(
    defineQuery<DataView>(name(QUERIES.data)),
    () => ({ deps: run.state?.deps ?? run.deps, state: run.state?.context.state ?? {} }),
    {
      description: 'Deps and state',
    },
  );
  setHandler(defineQuery<JsonObject, [CallArgumentsQuestion]>(name(QUERIES.callArguments)), ({ callId }) => callArguments(run, callId), {
    description: 'The arguments of a call as they were decided, for the activities of this run',
  });
  setHandler(defineQuery<DecisionContent, [DecisionQuestion]>(name(QUERIES.decision)), ({ id }) => decisionContent(run, id), {
    description: 'The content of a decision whose author is being checked, for the activities of this run',
  });
  setHandler(defineQuery<TranscriptAnswer, [TranscriptQuestion?]>(name(QUERIES.transcript)), (ask) => transcriptPage(run.state, ask), {
    description: 'The conversation, for the activities of this run',
  });
}

function offset(ask: From | null | undefined): number {
  return typeof ask?.from === 'number' && ask.from > 0 ? Math.floor(ask.from) : 0;
}

function statusView(run: LiveRun): StatusView {
  const { runId, agentName, executions, inbox, startedAt, state } = run;
  return {
    version: 1,
    runId,
    agentName,
    status: state?.status ?? 'running',
    ...runProgress(state),
    executions,
    queued: inbox.queued,
    startTime: new Date(startedAt).toISOString(),
  };
}

function approvalsPage(run: LiveRun, from: number): ApprovalsPage {
  const { runId, agentName, state } = run;
  const pending = state === undefined ? [] : approvalViews(state);
  return {
    version: 1,
    runId,
    agentName,
    status: state?.status ?? 'running',
    from,
    pending: page(pending, from),
    total: pending.length,
    remembered: state?.approvals.remembered ?? [],
  };
}

/** Another call than was decided must not run with nothing. */
function callArguments({ runId, state }: LiveRun, callId: string): JsonObject {
  const approved = state?.approvals.approved.find((one) => one.callId === callId)?.arguments;
  if (approved !== undefined) return approved;
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no decided arguments for call "${callId}"` });
}

function decisionContent({ authorizing }: LiveRun, id: string): DecisionContent {
  const { arguments: edited, content } = authorizing.get(id) ?? {};
  return { ...(edited === undefined ? {} : { arguments: edited }), ...(content === undefined ? {} : { content }) };
}

/** The events of this execution; a page that begins before them begins with them. */
function contextPage(run: LiveRun, from: number): ContextPage {
  const context = run.state?.context ?? newExecutionContext(run.runId);
  const { executionId, currentStep, state, finalResult, events } = context;
  const firstOffset = run.state?.firstOffset ?? 0;
  const place = Math.max(0, from - firstOffset);
  const paged = page(events, place);
  const next = paged.length === 0 ? events[place] : undefined;
  return {
    version: 1,
    executionId,
    status: run.state?.status ?? 'running',
    currentStep,
    state,
    finalResult,
    firstOffset,
    from: Math.max(from, firstOffset),
    events: paged,
    ...(next === undefined ? {} : { nextId: next.id }),
    total: firstOffset + events.length,
  };
}

function stepsPage(run: LiveRun, from: number): StepsPage {
  const steps = run.state?.steps ?? [];
  const total = run.state?.context.currentStep ?? 0;
  const firstIndex = total - steps.length;
  return { version: 1, firstIndex, from: Math.max(from, firstIndex), steps: page(steps, from - firstIndex), total };
}

function snapshot(run: LiveRun): AgentSnapshot {
  if (run.snapshot !== undefined) return run.snapshot;
  throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has not resolved agent "${run.agentName}" yet` });
}
