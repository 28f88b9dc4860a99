import type { AgentSnapshot } from '../domain/agent.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { defined } from '../domain/defined.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import {
  addEstimated,
  addReported,
  addUsage,
  type AggregatedUsage,
  type EstimatedUsage,
  priced,
  type Spent,
  type UsageStats,
} from '../domain/usage.ts';
import { points } from './points.ts';
import { recordEvent, type RunClock, type RunState } from './state/run-state.ts';

// Model phase: the cost of model calls.

/** The fields of the event of a model call that hold its cost. */
type Spending = Pick<Event, 'usage' | 'estimated' | 'failedAttempts'>;

/** A model call that has ended. */
interface SpentCall {
  /** `provider/model`. */
  model: string;
  /** The usage that the provider reported, or null. */
  usage: UsageStats | null;
  /** The answer, or the part of it that arrived. */
  answer: unknown;
  failedAttempts?: Spent | undefined;
}

/**
 * Adds the cost of a model call and its failed attempts to the usage of the run, and returns it for the event. Usage that the
 * provider did not report is estimated.
 */
export function spend(state: RunState, { model, usage, answer, failedAttempts }: SpentCall): Spending {
  const estimated = usage === null ? priced(state.snapshot.prices, model, estimateOf(state, answer)) : undefined;
  const reported = usage === null ? null : priced(state.snapshot.prices, model, usage);
  addSpending(state, (total) => addEstimated(addUsage(total, reported), estimated));
  return {
    usage: reported,
    ...defined({ estimated }),
    ...spendAttempts(state, model, failedAttempts),
  };
}

/** Adds to the usage of the run, and wherever else it counts. */
function addSpending(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void {
  state.usage = add(state.usage);
  points.spent(state, add);
}

/** Adds the cost of failed attempts. */
function spendAttempts(state: RunState, model: string, spent: Spent | undefined): Pick<Event, 'failedAttempts'> {
  if (spent === undefined) return {};
  const reported = spent.reported === undefined ? undefined : priced(state.snapshot.prices, model, spent.reported);
  const estimated = spent.estimated === undefined ? undefined : priced(state.snapshot.prices, model, spent.estimated);
  addSpending(state, (total) => addEstimated(addReported(total, reported ?? null), estimated));
  return { failedAttempts: defined({ reported, estimated }) };
}

/** Records the cost of a model call that failed in the end, if it is known. */
export function recordFailedCall(
  state: RunState,
  clock: RunClock,
  model: string,
  { code, spent }: { code: ErrorCode; spent?: Spent },
): void {
  if (spent === undefined) return;
  const attempts = spendAttempts(state, model, spent);
  recordEvent(state, clock, { author: state.snapshot.name, content: [], ...attempts, failed: { code } });
}

/** Records the part that had arrived of an answer that was given up. It counts as usage, not as a step. */
export function recordInterrupted(
  state: RunState,
  clock: RunClock,
  model: string,
  { id, content, usage, failedAttempts }: RecordedResponse,
): void {
  const spending = spend(state, { model, usage, answer: content, failedAttempts });
  recordEvent(state, clock, { id, author: state.snapshot.name, content, ...spending, ...points.answerParts(state), interrupted: true });
}

/** Estimates the usage of a call: the request was at least the conversation, and the answer at least the part that arrived. */
function estimateOf(state: RunState, answer: unknown): EstimatedUsage {
  const promptTokens = estimatedPromptTokens(state);
  const completionTokens = estimatedTokens(jsonBytes(answer));
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

// Shared state: the size of what the run has of an agent.

/** The estimated bytes of text per token. The provider's own count corrects the estimate, if there is one. */
export const BYTES_PER_TOKEN = 4;

interface SnapshotSizes {
  /** Bytes of the whole snapshot in the carried state. */
  whole: number;
  /** Bytes of the part that every request repeats. */
  request: number;
  /** Bytes of the name of the agent, as the author of an event. */
  name: number;
}

/** Estimates the tokens of a request with the current window. */
function estimatedPromptTokens({ snapshot, window }: RunState): number {
  return Math.ceil((window.bytes + sizesOf(snapshot).request) / BYTES_PER_TOKEN);
}

function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Returns the bytes of a snapshot in the carried state. */
export function snapshotBytes(snapshot: AgentSnapshot): number {
  return sizesOf(snapshot).whole;
}

/** The sizes of snapshots, each computed once: a snapshot never changes and may be large. */
const sizes = new WeakMap<AgentSnapshot, SnapshotSizes>();

export function sizesOf(snapshot: AgentSnapshot): SnapshotSizes {
  const known = sizes.get(snapshot);
  if (known !== undefined) return known;
  const described = snapshot.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const request = jsonBytes(snapshot.instructions) + jsonBytes(described);
  const counted = { whole: jsonBytes(snapshot), request, name: jsonBytes(snapshot.name) };
  sizes.set(snapshot, counted);
  return counted;
}
