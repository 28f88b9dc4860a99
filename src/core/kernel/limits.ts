import { jsonBytes } from '../domain/byte-budgets.ts';
import { defined } from '../domain/json.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { type LimitChanges, limitNumbers, type LimitReached, limitOfTool, raised, toolLimitName } from '../domain/limits.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { HostedCall } from '../domain/content.ts';
import type { Event } from '../domain/record.ts';
import {
  addEstimated,
  addReported,
  addUsage,
  type AggregatedUsage,
  dollars,
  roundedDollars,
  type EstimatedUsage,
  priced,
  pricedSpent,
  type Spent,
  type UsageStats,
} from '../domain/usage.ts';
import { isListed } from '../domain/fallback.ts';
import { estimatedPromptTokens, estimatedTokens } from '../domain/agent.ts';
import type { GivenLimits } from './capability.ts';
import { points } from './points.ts';
import { recordEvent, type RunClock, type RunState } from './run-state.ts';

// Shared state: the limits of a run, for both phases.

/** The amounts that a run's limits are compared with. */
interface Used {
  steps: number;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  costUsd: number;
  toolCalls: number;
  toolCallsByName: ReadonlyMap<string, number>;
}

/**
 * Returns the amounts that a run, or its current turn, has used, including what others have used for it, except their steps. Estimated
 * usage counts like reported usage.
 */
export function usedAmounts(state: RunState): Used {
  const started = [...state.toolCallsStarted.values()].reduce((sum, calls) => sum + calls, 0);
  const own = { steps: state.context.currentStep, usage: state.usage, toolCalls: started, toolCallsByName: state.toolCallsStarted };
  const { steps, usage, toolCalls, toolCallsByName } = points.withOthers(state, own);
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, costUsd = 0 } = usage.estimated ?? {};
  return {
    steps,
    inputTokens: usage.promptTokens + promptTokens,
    outputTokens: usage.completionTokens + completionTokens,
    totalTokens: usage.totalTokens + totalTokens,
    costUsd: (usage.costUsd ?? 0) + costUsd,
    toolCalls,
    toolCallsByName,
  };
}

const TOKEN_LIMITS = { inputTokens: 'input tokens', outputTokens: 'output tokens', totalTokens: 'tokens' } as const;

/**
 * Returns the limit that prevents the next model call, or undefined. Must be called before the call. `final`: the step limit no longer
 * applies.
 */
export function limitReached(state: RunState, now: number, { final }: { final: boolean }): LimitReached | undefined {
  const { limits, snapshot } = state;
  const spent = usedAmounts(state);
  if (!final && spent.steps >= limits.steps) {
    const proposal = { steps: limits.steps + Math.max(1, snapshot.limits.steps) };
    return { stopReason: 'step_limit', message: `${spent.steps} of ${limits.steps} steps are used`, proposal };
  }
  const { deadlineMs = Infinity } = limits;
  if (now >= state.startedAt + deadlineMs) {
    const proposal = { deadlineMs: deadlineMs + (snapshot.limits.deadlineMs ?? deadlineMs) };
    return { stopReason: 'deadline', message: `the deadline of ${deadlineMs / 1000} s from the start is over`, proposal };
  }
  for (const [name, unit] of Object.entries(TOKEN_LIMITS) as [keyof typeof TOKEN_LIMITS, string][]) {
    const limit = limits[name];
    if (limit === undefined || spent[name] < limit) continue;
    const proposal = { [name]: spent[name] + (snapshot.limits[name] ?? limit) };
    return { stopReason: 'token_budget', message: `${spent[name]} of ${limit} ${unit} are used`, proposal };
  }
  if (limits.costUsd !== undefined && spent.costUsd >= limits.costUsd) {
    const proposal = { costUsd: roundedDollars(spent.costUsd + (snapshot.limits.costUsd ?? limits.costUsd)) };
    return { stopReason: 'cost_budget', message: `${dollars(spent.costUsd)} of ${dollars(limits.costUsd)} are spent`, proposal };
  }
  return undefined;
}

/**
 * Returns when the deadline ends the run, in milliseconds since the epoch. Infinity without one, or if a person can be asked to raise it,
 * which happens before the next model call: the run asks at its limits, and its deadline is not the parent's.
 */
export function fixedDeadline(state: Limited & Pick<RunState, 'startedAt'>): number {
  const { onLimit, deadlineMs = Infinity } = state.limits;
  const isFixed = onLimit !== 'ask' || (points.limitsGiven(state)?.most.deadlineMs ?? Infinity) <= deadlineMs;
  return isFixed ? state.startedAt + deadlineMs : Infinity;
}

/** True once the deadline ends the run. */
export function endsByDeadline(state: RunState, now: number): boolean {
  return now >= fixedDeadline(state);
}

/** Reserves the calls of a response before any of them starts. Returns the indexes of the calls that exceed a limit, and that limit. */
export function reserveCalls(state: RunState, names: readonly (string | undefined)[]): { refused: Set<number>; reached?: LimitReached } {
  const { limits, snapshot } = state;
  const used = usedAmounts(state);
  const counts = new Map(used.toolCallsByName);
  const refused = new Set<number>();
  const proposal: LimitChanges = {};
  let total = used.toolCalls;
  names.forEach((name, index) => {
    if (name === undefined) return;
    const ofTool = limitOfTool(limits, name);
    const isFull = limits.toolCalls !== undefined && total >= limits.toolCalls;
    if (!isFull && (ofTool === undefined || (counts.get(name) ?? 0) < ofTool)) {
      total += 1;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return;
    }
    refused.add(index);
    if (isFull) proposal.toolCalls = (limits.toolCalls ?? 0) + Math.max(names.length, snapshot.limits.toolCalls ?? 0);
    else
      proposal.toolCallsByName = {
        ...limits.toolCallsByName,
        [name]: (ofTool ?? 0) + Math.max(names.length, limitOfTool(snapshot.limits, name) ?? 0),
      };
  });
  if (refused.size === 0) return { refused };
  const message = `${refused.size} of ${names.length} requested tool calls are over the limit of tool calls`;
  return { refused, reached: { stopReason: 'tool_call_limit', message, proposal } };
}

/** Raises limits of a run. */
export function raiseLimits(state: RunState, changes: LimitChanges): void {
  if (Object.keys(changes).length === 0) return;
  points.limitsRaised(state);
  state.limits = raised(state.limits, changes);
}

// Shared state: the share of another run's limits that a run was given. No raise exceeds it.

type Limited = Pick<RunState, 'limits' | 'slices'>;

/** Returns why changes of the limits would exceed the run's share, or undefined if they do not. */
export function abovePart(state: Limited, changes: LimitChanges): string | undefined {
  const given = points.limitsGiven(state);
  if (given === undefined) return undefined;
  for (const [name, most] of limitNumbers(withinPart(state, given, changes))) {
    if (most === limitNumbers(changes).get(name)) continue;
    return (
      `limit "${name}" is ${limitNumbers(state.limits).get(name) ?? most}, and the run's share of it from its parent "${given.by}" is ${most}, ` +
      'which does not change. Raise the limit of the root: runs that start after that get a larger share'
    );
  }
  return undefined;
}

/** Returns a reached limit with a proposal within the share; undefined if the limit cannot be raised. */
export function raisable(state: Limited, reached: LimitReached): LimitReached | undefined {
  const given = points.limitsGiven(state);
  if (given === undefined) return reached;
  const proposal = withinPart(state, given, reached.proposal);
  const now = limitNumbers(state.limits);
  return [...limitNumbers(proposal)].some(([name, value]) => value > (now.get(name) ?? Infinity)) ? { ...reached, proposal } : undefined;
}

/** Returns the changes, capped at the share. */
function withinPart({ limits }: Limited, given: GivenLimits, { toolCallsByName, ...changes }: LimitChanges): LimitChanges {
  const most = limitNumbers(given.most);
  const bound = (name: string, value: number): number => {
    // The final attempt is one of the steps in the share.
    const final = name === 'steps' && limits.finalAttempt ? 1 : 0;
    return Math.min(value, (most.get(name) ?? Infinity) - final);
  };
  const byTool = Object.entries(toolCallsByName ?? {}).map(([tool, value]) => [tool, bound(toolLimitName(tool), value)]);
  return {
    ...Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, bound(name, value)])),
    ...(toolCallsByName === undefined ? {} : { toolCallsByName: Object.fromEntries(byTool) }),
  };
}

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
  /** The provider has answered in a batch. */
  inBatch?: true | undefined;
  /** The calls that the provider has run itself. */
  hosted?: readonly HostedCall[] | undefined;
}

/**
 * Adds the cost of a model call and its failed attempts to the run's usage, and returns it for the event. Usage that the provider did not
 * report is estimated.
 */
export function spend(state: RunState, { model, usage, answer, failedAttempts, inBatch, hosted }: SpentCall): Spending {
  const tier = defined({ inBatch, hosted });
  const estimated = usage === null ? priced(state.snapshot.prices, model, estimateOf(state, answer), tier) : undefined;
  const reported = usage === null ? null : priced(state.snapshot.prices, model, usage, tier);
  addSpending(state, (total) => addEstimated(addUsage(total, reported), estimated));
  return {
    usage: reported,
    ...defined({ estimated }),
    ...spendAttempts(state, model, failedAttempts),
  };
}

/** Adds to the run's usage, and to every other total where it counts. */
export function addSpending(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void {
  state.usage = add(state.usage);
  points.spent(state, add);
}

/** Adds the cost of failed attempts. With a list of models it is priced already, because each attempt used another model. */
function spendAttempts(state: RunState, model: string, spent: Spent | undefined): Pick<Event, 'failedAttempts'> {
  if (spent === undefined) return {};
  const { snapshot } = state;
  const { reported, estimated } = isListed(snapshot, model) ? spent : pricedSpent(spent, snapshot.prices?.[model]);
  addSpending(state, (total) => addEstimated(addReported(total, reported ?? null), estimated));
  return { failedAttempts: defined({ reported, estimated }) };
}

/** Records the cost, if known, of a model call that failed permanently. */
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

/** Records the partial answer of a call that was given up. It counts as usage, not as a step. */
export function recordInterrupted(
  state: RunState,
  clock: RunClock,
  model: string,
  { id, content, usage, failedAttempts, answeredBy, hosted }: RecordedResponse,
): void {
  const spending = spend(state, { model: answeredBy ?? model, usage, answer: content, failedAttempts, hosted });
  const parts = { ...defined({ answeredBy }), ...points.answerParts(state) };
  recordEvent(state, clock, { id, author: state.snapshot.name, content, ...spending, ...parts, interrupted: true });
}

/** Estimates the usage of a call: the request was at least the conversation, and the answer at least the part that arrived. */
function estimateOf(state: RunState, answer: unknown): EstimatedUsage {
  const promptTokens = estimatedPromptTokens(state.snapshot, state.window);
  const completionTokens = estimatedTokens(jsonBytes(answer));
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}
