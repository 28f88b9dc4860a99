import { jsonBytes } from '../domain/byte-budgets.ts';
import { defined } from '../domain/defined.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { guardsAnswers } from '../domain/guardrails.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import { addNotRun } from '../domain/tool-calls.ts';
import {
  addEstimated,
  addReported,
  addRunUsage,
  addUsage,
  type AggregatedUsage,
  type EstimatedUsage,
  priced,
  pricedSpent,
  type Spent,
  type UsageStats,
  withChild,
} from '../domain/usage.ts';
import { estimatedPromptTokens, estimatedTokens } from './continue-as-new.ts';
import { countToolCalls, recordEvent, type RunClock, type RunState } from './state/run-state.ts';

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

/** Adds to the usage of the run, and to that of the agent that acts if the run has been handed over. */
function addSpending(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void {
  state.usage = add(state.usage);
  const ofAgent = state.handoffs?.usage.find(([name]) => name === state.snapshot.name);
  if (ofAgent !== undefined) ofAgent[1] = add(ofAgent[1]);
}

/** Adds the cost of failed attempts. Those of a list come with it: each was made by another model. */
function spendAttempts(state: RunState, model: string, spent: Spent | undefined): Pick<Event, 'failedAttempts'> {
  if (spent === undefined) return {};
  const { prices, fallback } = state.snapshot;
  const isListed = fallback?.models.some((one) => one.model === model) === true;
  const { reported, estimated } = isListed ? spent : pricedSpent(spent, prices?.[model]);
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
  { id, content, usage, failedAttempts, answeredBy }: RecordedResponse,
): void {
  const spending = spend(state, { model: answeredBy ?? model, usage, answer: content, failedAttempts });
  const guarded = guardsAnswers(state.snapshot) ? { guarded: true as const } : {};
  recordEvent(state, clock, {
    id,
    author: state.snapshot.name,
    content,
    ...spending,
    ...defined({ answeredBy }),
    ...guarded,
    interrupted: true,
  });
}

/** Estimates the usage of a call: the request was at least the conversation, and the answer at least the part that arrived. */
function estimateOf(state: RunState, answer: unknown): EstimatedUsage {
  const promptTokens = estimatedPromptTokens(state);
  const completionTokens = estimatedTokens(jsonBytes(answer));
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

// Shared state: the cost of children.

/** The name under which a program counts the tool calls of the agents that its own agents have called. */
const CALLS_OF_DESCENDANTS = '(descendants)';

/**
 * Adds the steps, the usage and the tool calls of a child that has ended to those of a program, with those of its descendants, and
 * returns its usage for the event. An agent counts what its children have used apart from its own use.
 */
export function spendChild(state: RunState, child: RunResultFields): Pick<Event, 'usage' | 'estimated'> {
  const { stepsUsed, toolCallsByName, toolCallsNotRun, descendants } = child;
  if (state.program === undefined) {
    state.descendants = withChild(state.descendants, child);
    return {};
  }
  const usage = descendants === undefined ? child.usage : addRunUsage(child.usage, descendants.usage);
  // The steps of a program are the model calls of all its descendants.
  state.context.currentStep += stepsUsed + (descendants?.usage.llmCalls ?? 0);
  state.usage = addRunUsage(state.usage, usage);
  const ofDescendants = descendants === undefined || descendants.toolCalls === 0 ? {} : { [CALLS_OF_DESCENDANTS]: descendants.toolCalls };
  for (const [name, calls] of Object.entries({ ...toolCallsByName, ...ofDescendants })) {
    const counted = countToolCalls(state, name, calls);
    state.toolCallsStarted.set(counted, (state.toolCallsStarted.get(counted) ?? 0) + calls);
  }
  const notRun = addNotRun(state.toolCallsNotRun, toolCallsNotRun);
  if (notRun !== undefined) state.toolCallsNotRun = notRun;
  const { llmCalls: _, estimated, ...reported } = usage;
  return { usage: reported, ...defined({ estimated }) };
}
