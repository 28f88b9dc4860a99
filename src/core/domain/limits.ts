import { didYouMean, shownValue } from './text.ts';
import { UsageError } from './errors.ts';
import type { StopReason } from './run.ts';
import * as s from './shape.ts';
import { type Duration, milliseconds } from './time.ts';

/** A limit of costs. */
const DOLLARS = s.boundedNumber({ exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'US dollars.' });

const OPTIONAL_LIMITS = {
  /** The number of tool calls that may start, for all tools together. */
  toolCalls: s.optional(s.COUNT),
  /** The number of tool calls that may start, by tool name. */
  toolCallsByName: s.optional(s.recordOf(s.COUNT)),
  /** Input tokens of all model calls. */
  inputTokens: s.optional(s.COUNT),
  /** Output tokens of all model calls. */
  outputTokens: s.optional(s.COUNT),
  /** Input and output tokens of all model calls. */
  totalTokens: s.optional(s.COUNT),
  /** US dollars, according to the prices in the snapshot. */
  costUsd: s.optional(DOLLARS),
  /** Milliseconds from the start of the run. */
  deadlineMs: s.optional(s.described(s.DURATION, 'Milliseconds from the start of the run.')),
};

const LIMIT_VALUES_MEMBERS = {
  /** The number of steps. Default 10. */
  steps: s.COUNT,
  ...OPTIONAL_LIMITS,
};

/** The limits of a run at its end. An absent field means no limit. */
export interface LimitValues extends s.ObjectOf<typeof LIMIT_VALUES_MEMBERS> {}
export const LIMIT_VALUES: s.Shape<LimitValues> = s.object(LIMIT_VALUES_MEMBERS);

const RUN_LIMITS_MEMBERS = {
  ...LIMIT_VALUES_MEMBERS,
  /**
   * True: after the last step, the model is asked once more for a final answer, without tools. The status remains `max_iterations_reached`.
   */
  finalAttempt: s.FLAG,
  /** A person is asked to raise a limit that is reached. Absent: the run ends. */
  onLimit: s.optional(s.fixed('ask')),
};

/** The limits of a run. An absent field means no limit. */
export interface RunLimits extends s.ObjectOf<typeof RUN_LIMITS_MEMBERS> {}
export const RUN_LIMITS: s.Shape<RunLimits> = s.object(RUN_LIMITS_MEMBERS);

/** Limits that can be changed while a run is running. */
export type LimitChanges = Partial<LimitValues>;

/** The limits set at a start, and a child's share of its parent's limits. */
export const LIMITS: s.Shape<LimitChanges> = s.closedObject({ steps: s.optional(s.AT_LEAST_ONE), ...OPTIONAL_LIMITS });

/** Limits that a caller raises during the run. */
export const LIMIT_CHANGES: s.Shape<LimitChanges> = s.shape({ ...LIMITS, minProperties: 1 });

/** The default limit of steps. */
export const DEFAULT_STEPS = 10;

/** One raise of limits by a caller. */
export interface LimitRaise {
  /** The id that the caller chose. */
  id: string;
  /** The new values of limits that are raised. */
  limits: LimitChanges;
  /** Limits of the whole session. */
  session?: SessionLimits;
  /** The caller's name, as claimed and not verified. */
  by: string | null;
  /** ISO 8601. */
  at: string;
}

export interface LimitReached {
  stopReason: Exclude<StopReason, 'final_answer' | 'closed' | 'cancelled' | 'error'>;
  /** The limit and the used amount, for people. */
  message: string;
  /** The change that would let the run continue: it raises the limit by the limit's original size. */
  proposal: LimitChanges;
}

/** Returns a run's limits without its behavior at a limit. */
export function limitValues({ finalAttempt: _, onLimit: __, ...limits }: RunLimits): LimitValues {
  return limits;
}

/** Limits of a run. All are optional; a missing one means no limit, except that an agent without `steps` has 10. */
export interface LimitOptions {
  /** Steps: completed model calls, each with its tool calls. At least 1. */
  steps?: number;
  /** The number of tool calls that may start, for all tools together. 0: none. */
  toolCalls?: number;
  /** The number of tool calls that may start, by tool name. */
  toolCallsByName?: Readonly<Record<string, number>>;
  /** Input tokens of all model calls. */
  inputTokens?: number;
  /** Output tokens of all model calls. */
  outputTokens?: number;
  /** Input and output tokens together. */
  totalTokens?: number;
  /** US dollars, according to the prices that the worker knows. Without a price for the model, the run does not start. */
  costUsd?: number;
  /** The time from the start of the run, including all waiting. */
  deadline?: Duration;
}

/** A limit that is one amount: its name for people, and its allowed values. */
interface AmountLimit {
  words: string;
  /** The minimum integer. Absent: an amount of US dollars, which must be more than 0. */
  least?: number;
}

/** The limits with a single amount, by name. Token limits cannot be 0: the run could not call its model once. */
const AMOUNT_LIMITS = {
  steps: { words: 'steps', least: 1 },
  toolCalls: { words: 'tool calls', least: 0 },
  inputTokens: { words: 'input tokens', least: 1 },
  outputTokens: { words: 'output tokens', least: 1 },
  totalTokens: { words: 'tokens', least: 1 },
  costUsd: { words: 'cost' },
} as const satisfies Partial<Record<keyof LimitOptions, AmountLimit>>;

/** The name of a limit with a single amount. */
type AmountName = keyof typeof AMOUNT_LIMITS;

/** Returns the amounts set by limits, in the order of the table. */
export function amountsOf(
  limits: Readonly<Partial<Record<AmountName, number | undefined>>>,
): (AmountLimit & { name: AmountName; amount: number })[] {
  return Object.entries(AMOUNT_LIMITS).flatMap(([key, limit]: [string, AmountLimit]) => {
    const name = key as AmountName;
    const amount = limits[name];
    return amount === undefined ? [] : [{ name, amount, ...limit }];
  });
}

/** Throws a UsageError that begins with `owner` for an amount that an agent cannot set. */
export function checkAmounts(owner: string, limits: LimitOptions): void {
  for (const { name, amount, least } of amountsOf(limits)) {
    const what = `${owner}: "limits.${name}" is ${shownValue(amount)}`;
    if (least === undefined && !(Number.isFinite(amount) && amount > 0)) throw new UsageError(`${what}: write US dollars, more than 0`);
    if (least !== undefined && !(Number.isSafeInteger(amount) && amount >= least)) {
      throw new UsageError(`${what}: write a whole number of at least ${least}`);
    }
  }
}

/** All limits by name, in the order in which errors list them. The compiler reports a missing one. */
const LIMIT_NAMES: Record<keyof LimitOptions, true> = {
  steps: true,
  toolCalls: true,
  toolCallsByName: true,
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  costUsd: true,
  deadline: true,
};

/**
 * Converts limits to the JSON form of a run's input, with the deadline in milliseconds. Throws a UsageError that begins with `owner` for an
 * unknown limit, for steps that are not an integer of at least 1, and for an invalid deadline.
 */
export function plainLimits(owner: string, limits: LimitOptions): LimitChanges {
  const unknown = Object.keys(limits).find((name) => !Object.hasOwn(LIMIT_NAMES, name));
  if (unknown !== undefined) {
    const known = Object.keys(LIMIT_NAMES);
    throw new UsageError(`${owner}: "limits" has an unknown option "${unknown}" (known: ${known.join(', ')})${didYouMean(unknown, known)}`);
  }
  const { steps, deadline, ...counts } = limits;
  if (steps !== undefined && !(Number.isSafeInteger(steps) && steps >= 1)) {
    throw new UsageError(`${owner}: "limits.steps" is ${shownValue(steps)}: write a whole number of at least 1`);
  }
  const defined = Object.fromEntries(Object.entries(counts).filter(([, limit]) => limit !== undefined));
  return {
    ...(steps === undefined ? {} : { steps }),
    ...defined,
    ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${owner}: "limits.deadline"`) }),
  };
}

/** Merges the `deadline` option of a start into its limits. Throws a UsageError that begins with `owner` if there are two deadlines. */
export function limitsWithDeadline(
  owner: string,
  { limits, deadline }: { limits?: LimitOptions; deadline?: Duration },
): LimitOptions | undefined {
  if (deadline === undefined) return limits;
  if (limits?.deadline === undefined) return { ...limits, deadline };
  throw new UsageError(`${owner}: there are two deadlines, "deadline" and "limits.deadline": write one of them`);
}

/** The limits that a run shares with its descendants. */
export const SHARED_LIMITS = ['toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const;

/** The limits that are a single number. */
const NUMBER_LIMITS = [...SHARED_LIMITS, 'deadlineMs'] as const;

/** Returns the limit of a tool. Only own properties count, because models invent names of tools. */
export function limitOfTool({ toolCallsByName }: Pick<LimitChanges, 'toolCallsByName'>, name: string): number | undefined {
  return toolCallsByName !== undefined && Object.hasOwn(toolCallsByName, name) ? toolCallsByName[name] : undefined;
}

/** Applies changes to limits, except changes that would lower one. The limits of single tools change individually. */
export function raised(limits: RunLimits, { toolCallsByName = {}, ...changes }: LimitChanges): RunLimits {
  const byTool = { ...limits.toolCallsByName, ...higher({ ...limits.toolCallsByName }, toolCallsByName) };
  return { ...limits, ...higher({ ...limits }, changes), ...(Object.keys(byTool).length === 0 ? {} : { toolCallsByName: byTool }) };
}

/** Returns the changes that do not lower a value. */
function higher<Changes extends Record<string, number>>(now: Record<string, unknown>, changes: Changes): Changes {
  const entries = Object.entries(changes).filter(([name, value]) => !Object.hasOwn(now, name) || value >= Number(now[name]));
  return Object.fromEntries(entries) as Changes;
}

/**
 * Returns limits capped at their ceilings. An absent limit becomes its ceiling. A final attempt counts as one of the steps below the
 * ceiling; if only one step is left, there is no final attempt.
 */
export function narrowLimits<Limits extends Partial<RunLimits>>(limits: Limits, ceiling: LimitChanges = {}): Limits {
  const narrowed: Partial<RunLimits> = { ...limits };
  for (const name of NUMBER_LIMITS) {
    const most = ceiling[name];
    if (most !== undefined) narrowed[name] = Math.min(most, limits[name] ?? most);
  }
  if (ceiling.steps !== undefined) {
    const finalAttempt = limits.finalAttempt === true && ceiling.steps > 1;
    const most = ceiling.steps - (finalAttempt ? 1 : 0);
    narrowed.steps = Math.min(most, limits.steps ?? most);
    if (limits.finalAttempt !== undefined) narrowed.finalAttempt = finalAttempt;
  }
  const byName = Object.entries(ceiling.toolCallsByName ?? {});
  if (byName.length > 0) {
    const own = new Map(Object.entries(limits.toolCallsByName ?? {}));
    for (const [tool, most] of byName) own.set(tool, Math.min(most, own.get(tool) ?? most));
    narrowed.toolCallsByName = Object.fromEntries(own);
  }
  return { ...limits, ...narrowed };
}

const TOOL_LIMIT_PREFIX = 'toolCallsByName.';

/** Returns limits by name; the limits of single tools as `toolCallsByName.<tool>`. */
export function limitNumbers({ toolCallsByName = {}, ...limits }: LimitChanges | RunLimits): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [name, value] of Object.entries(limits)) if (typeof value === 'number') numbers.set(name, value);
  for (const [tool, value] of Object.entries(toolCallsByName)) numbers.set(toolLimitName(tool), value);
  return numbers;
}

export function toolLimitName(tool: string): string {
  return TOOL_LIMIT_PREFIX + tool;
}

/** Returns the tool whose calls a limit bounds, or undefined for any other limit. */
export function toolOfLimitName(name: string): string | undefined {
  return name.startsWith(TOOL_LIMIT_PREFIX) ? name.slice(TOOL_LIMIT_PREFIX.length) : undefined;
}

const TREE_MEMBERS = {
  /** The maximum number of ancestors of a run in the tree. The root has none. */
  depth: s.COUNT,
  /** The maximum number of running children of one run. Further ones wait. */
  alive: s.COUNT,
  /** The total number of descendants that may be started. */
  runs: s.COUNT,
};

/** The limits of the tree of a run's descendants. A child's limits are never higher. */
export interface TreeLimits extends s.ObjectOf<typeof TREE_MEMBERS> {}
export const TREE_LIMITS: s.Shape<TreeLimits> = s.closedObject(TREE_MEMBERS);

/** The default limits. `perTree` counts the root. */
export const DEFAULT_TREE_LIMITS = { depth: 3, alive: 20, perTree: 200 } as const;

/** The tree limits as an agent sets them. */
export interface ChildrenOptions {
  /** The maximum number of ancestors of a run in the tree. Default 3. */
  depth?: number;
  /** The number of children that one run may have alive: further calls wait their turn. Default 20. */
  alive?: number;
  /** The number of runs of the whole tree, the root included. Default 200. */
  perTree?: number;
}

/** The highest limit of depth. */
export const MAX_TREE_DEPTH = 20;

const SESSION_LIMITS_MEMBERS = {
  /** The number of turns. Default: no limit. */
  turns: s.optional(s.orNull(s.AT_LEAST_ONE)),
  /** Prompt and completion tokens of all turns. Default 200,000. */
  totalTokens: s.optional(s.orNull(s.AT_LEAST_ONE)),
  /** US dollars. Default: no limit. */
  costUsd: s.optional(s.orNull(DOLLARS)),
  /** Milliseconds from the start of the session. Default: no limit. */
  deadlineMs: s.optional(s.orNull(s.DURATION)),
};

/** The limits of a whole session. `null`: no limit. */
export interface SessionLimits extends s.ObjectOf<typeof SESSION_LIMITS_MEMBERS> {}
export const SESSION_LIMITS: s.Shape<SessionLimits> = s.closedObject(SESSION_LIMITS_MEMBERS);

/** The limits of a session by their names as options. */
export const SESSION_LIMIT_OPTIONS = { turns: true, totalTokens: true, costUsd: true, deadline: true } as const;

/** The default limits of a session. */
export const DEFAULT_SESSION_LIMITS = { turns: null, totalTokens: 200_000, costUsd: null, deadlineMs: null } as const;

/** The limits of a session, including defaults. */
export const SESSION_LIMIT_VALUES = s.shape<Required<SessionLimits>>({
  type: 'object',
  properties: SESSION_LIMITS['properties'] ?? {},
  required: Object.keys(DEFAULT_SESSION_LIMITS),
});

/** The default number of turns after which a session's conversation is compacted. */
const DEFAULT_COMPACT_AFTER = 20;

/** The amounts that a session has used so far. */
export interface SessionUsed {
  /** Completed turns. */
  turns: number;
  /** Prompt and completion tokens of all turns. */
  totalTokens: number;
  /** US dollars. Default 0. */
  costUsd?: number;
  /** Milliseconds since the start of the session. Default 0. */
  elapsedMs?: number;
}

/** The first limit that a session has reached, or `ok`. */
type SessionLimitCheck = 'ok' | 'max_turns_reached' | 'max_budget_reached' | 'max_cost_reached' | 'deadline_reached';

/** The remaining amounts of the limits, never below 0. `null`: no limit. */
type SessionRemaining = Record<keyof SessionLimits, number | null>;

/**
 * Checks whether a session may begin another turn. A limit is reached once the amount is at least as large. If several are reached, the
 * order is turns, tokens, cost, deadline.
 */
export function checkSessionLimits(limits: SessionLimits, used: SessionUsed): SessionLimitCheck {
  const left = remainingLimits(limits, used);
  if (left.turns === 0) return 'max_turns_reached';
  if (left.totalTokens === 0) return 'max_budget_reached';
  if (left.costUsd === 0) return 'max_cost_reached';
  return left.deadlineMs === 0 ? 'deadline_reached' : 'ok';
}

/** Returns the remaining amounts of a session's limits. */
export function remainingLimits(limits: SessionLimits, { turns, totalTokens, costUsd = 0, elapsedMs = 0 }: SessionUsed): SessionRemaining {
  return {
    turns: leftOf(limits.turns, DEFAULT_SESSION_LIMITS.turns, turns),
    totalTokens: leftOf(limits.totalTokens, DEFAULT_SESSION_LIMITS.totalTokens, totalTokens),
    costUsd: leftOf(limits.costUsd, DEFAULT_SESSION_LIMITS.costUsd, costUsd),
    deadlineMs: leftOf(limits.deadlineMs, DEFAULT_SESSION_LIMITS.deadlineMs, elapsedMs),
  };
}

function leftOf(limit: number | null | undefined, otherwise: number | null, used: number): number | null {
  const most = limit === undefined ? otherwise : limit;
  return most === null ? null : Math.max(0, most - used);
}

/** True once a session has had more than `compactAfter` turns. `null`: never. */
export function shouldCompact({ compactAfter = DEFAULT_COMPACT_AFTER }: { compactAfter?: number | null }, turns: number): boolean {
  return compactAfter !== null && turns > compactAfter;
}

/** Returns only the limit in dollars, or undefined if there is none. */
export function costLimitOf({ costUsd }: { costUsd?: number | null } = {}): { costUsd: number } | undefined {
  return costUsd === undefined || costUsd === null ? undefined : { costUsd };
}
