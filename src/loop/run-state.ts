import type { AgentSnapshot } from '../domain/agent-snapshot.ts';
import type { ContentPart } from '../domain/content.ts';
import { addEvent, newExecutionContext, type ExecutionContext } from '../domain/execution-context.ts';
import { newEvent, type Event } from '../domain/event.ts';
import type { RunStatus } from '../domain/run-status.ts';
import type { StepResult, ToolCallRecord } from '../domain/step.ts';
import { noUsage, type AggregatedUsage } from '../domain/usage.ts';
import type { RunClock } from './clock.ts';

/** The state of a run: one plain object, owned and changed by the loop alone. */
export interface RunState {
  runId: string;
  snapshot: AgentSnapshot;
  context: ExecutionContext;
  status: RunStatus;
  steps: StepResult[];
  usage: AggregatedUsage;
  toolCallsTotal: number;
  /** In the order of first use. A map, because models invent names such as `__proto__`. */
  toolCallsByName: Map<string, number>;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Structured answers that did not fit so far. */
  outputRetries: number;
  /** How many events the model has seen. */
  seenEvents: number;
  /** Ids of the results in the last event, where activities produced all of them. */
  resultIds?: string[];
}

/** What a run begins with. */
export interface RunBeginning {
  runId: string;
  snapshot: AgentSnapshot;
  input: string | ContentPart[];
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** The state of a run that has its agent and its first message. */
export function newRunState({ runId, snapshot, input, startedAt }: RunBeginning, clock: RunClock): RunState {
  const state: RunState = {
    runId,
    snapshot,
    context: newExecutionContext(runId),
    status: 'running',
    steps: [],
    usage: noUsage(),
    toolCallsTotal: 0,
    toolCallsByName: new Map(),
    startedAt,
    outputRetries: 0,
    seenEvents: 0,
  };
  recordEvent(state, clock, { author: 'user', content: [{ type: 'message', role: 'user', content: input }], timestamp: startedAt / 1000 });
  return state;
}

/** Appends an event made in the loop. Its id comes from the workflow, so that a reset run cannot repeat it with other content. */
export function recordEvent(state: RunState, clock: RunClock, event: Pick<Event, 'author' | 'content'> & Partial<Event>): void {
  const { executionId } = state.context;
  const stamp = { id: event.id ?? clock.uuid(), now: clock.now() };
  addEvent(state.context, { ...newEvent(stamp, executionId, event.author), ...event });
  delete state.resultIds;
}

/** Counts a tool call, whatever comes of it. */
export function tally(state: RunState, record: ToolCallRecord): void {
  state.toolCallsTotal += 1;
  state.toolCallsByName.set(record.toolName, (state.toolCallsByName.get(record.toolName) ?? 0) + 1);
}

/** The last text that the model said, or an empty text: the best partial answer of a run that did not complete. */
export function lastThought(state: RunState): string {
  return state.steps.findLast((step) => step.thought !== null)?.thought ?? '';
}
