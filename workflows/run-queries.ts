import { ApplicationFailure } from '@temporalio/common';
import { defineQuery, setHandler } from '@temporalio/workflow';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import type { Event } from '../src/domain/event.ts';
import type { JsonObject } from '../src/domain/json.ts';
import { newExecutionContext } from '../src/domain/execution-context.ts';
import { noUsage } from '../src/domain/usage.ts';
import type { RunState } from '../src/loop/run-state.ts';
import { type ContextPage, type DataView, QUERIES, type StatusView, type StepsPage } from '../src/protocol.ts';
import { page } from './pages.ts';

/** What a run can be asked about, from its first moment on. */
export interface QueriedRun {
  runId: string;
  agentName: string;
  deps: JsonObject;
  /** Milliseconds since the epoch. */
  startedAt: number;
  snapshot?: AgentSnapshot;
  state?: RunState;
}

/** Where the caller wants a page to begin. Anything but a number means the beginning. */
interface From {
  from?: number;
}

/** Registers the queries of a run. Must be called before the first await: a query may come with the first task. */
export function registerQueries(run: QueriedRun): void {
  setHandler(defineQuery(QUERIES.status), () => statusView(run), { description: 'Status, step, usage' });
  setHandler(defineQuery<ContextPage, [From?]>(QUERIES.context), (ask) => contextPage(run, offset(ask)), {
    description: 'The ExecutionContext with a page of its events; {"from": offset}',
  });
  setHandler(defineQuery<StepsPage, [From?]>(QUERIES.steps), (ask) => stepsPage(run, offset(ask)), {
    description: 'A page of the recorded steps; {"from": index}',
  });
  setHandler(defineQuery<AgentSnapshot>(QUERIES.snapshot), () => snapshot(run), { description: 'The agent as pinned for this run' });
  setHandler(defineQuery<DataView>(QUERIES.data), () => ({ deps: run.deps, state: run.state?.context.state ?? {} }), {
    description: 'Deps and state',
  });
  setHandler(defineQuery<TranscriptAnswer, [TranscriptQuestion?]>(QUERIES.transcript), (ask) => transcriptPage(run, ask), {
    description: 'The conversation, for the activities of this run',
  });
}

function offset(ask: From | null | undefined): number {
  return typeof ask?.from === 'number' && ask.from > 0 ? Math.floor(ask.from) : 0;
}

function statusView(run: QueriedRun): StatusView {
  const { state } = run;
  return {
    version: 1,
    runId: run.runId,
    agentName: run.agentName,
    status: state?.status ?? 'running',
    currentStep: state?.context.currentStep ?? 0,
    maxIterations: run.snapshot?.limits.maxIterations ?? 0,
    usage: state?.usage ?? noUsage(),
    toolCallsTotal: state?.toolCallsTotal ?? 0,
    events: state?.context.events.length ?? 0,
    startTime: new Date(run.startedAt).toISOString(),
  };
}

function contextPage(run: QueriedRun, from: number): ContextPage {
  const context = run.state?.context ?? newExecutionContext(run.runId);
  const { executionId, currentStep, state, finalResult, events } = context;
  const status = run.state?.status ?? 'running';
  return { version: 1, executionId, status, currentStep, state, finalResult, from, events: page(events, from), total: events.length };
}

function stepsPage(run: QueriedRun, from: number): StepsPage {
  const steps = run.state?.steps ?? [];
  return { version: 1, from, steps: page(steps, from), total: steps.length };
}

function snapshot(run: QueriedRun): AgentSnapshot {
  if (run.snapshot !== undefined) return run.snapshot;
  throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has not resolved agent "${run.agentName}" yet` });
}

interface TranscriptQuestion {
  from: number;
  knownId: string | null;
}

interface TranscriptAnswer {
  from: number;
  events: Pick<Event, 'id' | 'author' | 'content' | 'providerItems'>[];
}

/** From `from` on where the asker's last event is ours, otherwise from the beginning. */
function transcriptPage(run: QueriedRun, ask: TranscriptQuestion | undefined): TranscriptAnswer {
  const events = run.state?.context.events ?? [];
  const known = ask !== undefined && ask.from > 0 && events[ask.from - 1]?.id === ask.knownId;
  const from = known ? ask.from : 0;
  return {
    from,
    events: page(events, from).map(({ id, author, content, providerItems }) => ({
      id,
      author,
      content,
      ...(providerItems === undefined ? {} : { providerItems }),
    })),
  };
}
