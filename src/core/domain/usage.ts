import type { HostedCall } from './content.ts';
import { defined } from './json.ts';
import type { LimitChanges } from './limits.ts';
import { activityDetails } from './missing-definitions.ts';
import * as s from './shape.ts';

const TOKENS = {
  /** Tokens of the request, including cached ones. */
  promptTokens: s.NUMBER,
  /** Tokens of the answer, including reasoning. */
  completionTokens: s.NUMBER,
  /** The sum of both. */
  totalTokens: s.NUMBER,
};

const USAGE_MEMBERS = {
  ...TOKENS,
  /** Tokens that the provider read from its cache. */
  cachedTokens: s.optional(s.NUMBER),
  /** Tokens that the provider wrote to its cache. */
  cacheWriteTokens: s.optional(s.NUMBER),
  /** Tokens of the answer that were reasoning. Absent if the provider does not say. */
  reasoningTokens: s.optional(s.NUMBER),
  /** US dollars. Absent if neither the provider reported the cost nor the model's price is known. */
  costUsd: s.optional(s.NUMBER),
};

/** Tokens of one model call. `cachedTokens` and `cacheWriteTokens` are part of the prompt, `reasoningTokens` part of the completion. */
export interface UsageStats extends s.ObjectOf<typeof USAGE_MEMBERS> {}
export const USAGE_STATS: s.Shape<UsageStats> = s.object(USAGE_MEMBERS);

const ESTIMATED_MEMBERS = {
  ...TOKENS,
  /** US dollars. Absent if the model's price is not known. */
  costUsd: USAGE_MEMBERS.costUsd,
};

/** Tokens that were estimated because an answer was interrupted, an attempt failed, or a provider reported nothing. */
export interface EstimatedUsage extends s.ObjectOf<typeof ESTIMATED_MEMBERS> {}
export const ESTIMATED_USAGE: s.Shape<EstimatedUsage> = s.object(ESTIMATED_MEMBERS);

const AGGREGATED_MEMBERS = {
  ...TOKENS,
  /** Tokens of the requests that a provider read from its cache. */
  cachedTokens: s.NUMBER,
  /** Tokens of the answers that were reasoning. */
  reasoningTokens: s.NUMBER,
  /** The number of model calls, including those whose provider reported no usage. */
  llmCalls: s.NUMBER,
  /** Absent if no provider reported any. */
  cacheWriteTokens: s.optional(s.NUMBER),
  /** US dollars of the reported usage, as far as prices are known. */
  costUsd: s.optional(s.NUMBER),
  /**
   * Usage that no provider reported, estimated from the size of requests and answers. It is not included in the other counts, but counts
   * against limits.
   */
  estimated: s.optional(ESTIMATED_USAGE),
};

/** Tokens of all model calls of a run, and the number of calls. */
export interface AggregatedUsage extends s.ObjectOf<typeof AGGREGATED_MEMBERS> {}
export const AGGREGATED_USAGE: s.Shape<AggregatedUsage> = s.object(AGGREGATED_MEMBERS);

/** The cost of model calls that is not in the usage of an answer: reported by the provider, or estimated. */
export interface Spent {
  /** Tokens and costs reported by providers. Absent if there are none. */
  reported?: UsageStats;
  /** Estimates for calls whose provider reported nothing. Absent if there are none. */
  estimated?: EstimatedUsage;
}

/** Returns the cost of usage in US dollars, or undefined if the model's price is not known. */
export function dollarsOf({ costUsd }: Pick<UsageStats, 'costUsd'>): number | undefined {
  return costUsd;
}

/** Returns the usage of a run before its first model call. */
export function noUsage(): AggregatedUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0, cachedTokens: 0, reasoningTokens: 0, llmCalls: 0 };
}

/** Adds the reported usage of a call or an attempt to `total`, without counting a call. */
export function addReported(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  if (call === null) return total;
  const costUsd = call.costUsd === undefined ? {} : { costUsd: (total.costUsd ?? 0) + call.costUsd };
  const { cacheWriteTokens } = call;
  const written = cacheWriteTokens === undefined ? {} : { cacheWriteTokens: (total.cacheWriteTokens ?? 0) + cacheWriteTokens };
  return {
    ...total,
    promptTokens: total.promptTokens + call.promptTokens,
    completionTokens: total.completionTokens + call.completionTokens,
    totalTokens: total.totalTokens + call.totalTokens,
    cachedTokens: total.cachedTokens + (call.cachedTokens ?? 0),
    reasoningTokens: total.reasoningTokens + (call.reasoningTokens ?? 0),
    ...written,
    ...costUsd,
  };
}

/** Adds the usage of a whole run to `total`. */
export function addRunUsage(total: AggregatedUsage, { estimated, llmCalls, ...reported }: AggregatedUsage): AggregatedUsage {
  const sum = addEstimated(addReported(total, reported), estimated);
  return { ...sum, llmCalls: total.llmCalls + llmCalls };
}

/** Adds estimated usage to `total`. */
export function addEstimated(total: AggregatedUsage, more: EstimatedUsage | undefined): AggregatedUsage {
  if (more === undefined) return total;
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, costUsd } = total.estimated ?? {};
  const cost = costUsd === undefined && more.costUsd === undefined ? {} : { costUsd: (costUsd ?? 0) + (more.costUsd ?? 0) };
  const estimated = {
    promptTokens: promptTokens + more.promptTokens,
    completionTokens: completionTokens + more.completionTokens,
    totalTokens: totalTokens + more.totalTokens,
    ...cost,
  };
  return { ...total, estimated };
}

/** Adds one more model call to `total`. A call without reported usage (null) still counts. */
export function addUsage(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  return { ...addReported(total, call), llmCalls: total.llmCalls + 1 };
}

/** The price of a model, in US dollars per million tokens. */
export interface ModelPrice {
  /** US dollars for a million tokens of input. */
  input: number;
  /** US dollars for a million tokens of output, including reasoning. */
  output: number;
  /** US dollars for a million cached tokens of input. Default: the price of `input`. */
  cachedInput?: number;
  /**
   * The factor on the price of `input` for tokens that the provider writes to its cache. Default 1.25, as with Anthropic and OpenAI;
   * Anthropic's one-hour cache costs 2.
   */
  cacheWrite?: number;
  /** The factor on all prices for a call in a batch. Default 0.5. */
  batch?: number;
  /** US dollars for a thousand calls of a hosted tool, by its name: `{ web_search: 10 }`. Failed calls cost nothing. Default: none. */
  hosted?: Readonly<Record<string, number>>;
}

/** The default factors of a price. */
const DEFAULT_FACTORS = { cacheWrite: 1.25, batch: 0.5 };

const MILLION = 1_000_000;
const A_THOUSAND = 1_000;

/** How a provider made a call. */
interface CallTier {
  /** True: in a batch. */
  inBatch?: boolean;
  /** The calls that the provider ran itself. */
  hosted?: readonly HostedCall[];
}

/** Returns the cost of usage in US dollars. Reasoning tokens are part of the completion, and cache tokens part of the prompt. */
export function costOf(
  { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 }: UsageStats,
  price: ModelPrice,
  { inBatch = false, hosted = [] }: CallTier = {},
): number {
  const { input, output, cachedInput = input, cacheWrite = DEFAULT_FACTORS.cacheWrite, batch = DEFAULT_FACTORS.batch } = price;
  const plainTokens = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens);
  const cost = plainTokens * input + cachedTokens * cachedInput + cacheWriteTokens * input * cacheWrite + completionTokens * output;
  const ofHosted = hosted.reduce((sum, { name, isError }) => sum + (isError ? 0 : priceOfHosted(price, name)), 0);
  return (cost * (inBatch ? batch : 1)) / MILLION + ofHosted / A_THOUSAND;
}

function priceOfHosted({ hosted = {} }: ModelPrice, name: string): number {
  return Object.hasOwn(hosted, name) ? (hosted[name] ?? 0) : 0;
}

/** Adds the price of a model, `provider/model`, to usage, if the price is known. The provider's own cost has precedence. */
export function priced<Usage extends UsageStats>(
  prices: Record<string, ModelPrice> | undefined,
  model: string,
  usage: Usage,
  tier: CallTier = {},
): Usage {
  return withCost(usage, prices?.[model], tier);
}

function withCost<Usage extends UsageStats>(usage: Usage, price: ModelPrice | undefined, tier?: CallTier): Usage {
  return price === undefined || usage.costUsd !== undefined ? usage : { ...usage, costUsd: costOf(usage, price, tier) };
}

/** Returns the cost of attempts, priced for the model that made them if its price is known. */
export function pricedSpent({ reported, estimated }: Spent, price: ModelPrice | undefined): Spent {
  const cost = <Usage extends UsageStats>(usage: Usage | undefined): Usage | undefined =>
    usage === undefined ? undefined : withCost(usage, price);
  return defined({ reported: cost(reported), estimated: cost(estimated) });
}

/** Returns the cached share of a prompt as text: `87 % cached`. Undefined if the provider does not report it. */
export function cachedText({ promptTokens, cachedTokens = 0 }: Pick<UsageStats, 'promptTokens' | 'cachedTokens'>): string | undefined {
  return cachedTokens > 0 && promptTokens > 0 ? `${Math.floor((cachedTokens / promptTokens) * 100)} % cached` : undefined;
}

/** Formats US dollars: with two decimals if that is exact, and with more for the cost of single calls. What costs something is never $0. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < 0.000_000_5) return '< $0.000001';
  if (Number(amount.toFixed(2)) === amount) return `$${amount.toFixed(2)}`;
  return `$${amount.toFixed(amount < 0.001 ? 6 : 4)}`;
}

/** Returns US dollars without the digits that only a sum of fractions has: at most a millionth more than the amount, and never less. */
export function roundedDollars(amount: number): number {
  const millionths = amount * 1_000_000;
  const nearest = Math.round(millionths);
  return (Math.abs(millionths - nearest) < 0.001 ? nearest : Math.ceil(millionths)) / 1_000_000;
}

/** Returns the US dollars of usage, both reported and estimated, or undefined if no price was known. */
export function dollarsSpent({
  costUsd,
  estimated,
}: Pick<UsageStats, 'costUsd'> & { estimated?: EstimatedUsage | undefined }): number | undefined {
  return costUsd === undefined && estimated?.costUsd === undefined ? undefined : (costUsd ?? 0) + (estimated?.costUsd ?? 0);
}

/** Returns US dollars and their limit as text: `$0.10 of at most $1.00`. Undefined if neither is known. */
export function costText(
  spent: number | undefined,
  { costUsd: limit = null }: { costUsd?: number | null | undefined },
): string | undefined {
  if (spent === undefined && limit === null) return undefined;
  return `${dollars(spent ?? 0)}${limit === null ? '' : ` of at most ${dollars(limit)}`}`;
}

/**
 * The details of a heartbeat or failure that report the cost of a model call's failed attempts. The next attempt reads them from the last
 * heartbeat, and the run reads them from the last failure.
 */
export interface SpentDetails {
  spent: Spent;
}

/** Adds up the cost of attempts. Undefined if neither has any. */
export function addSpent(one: Spent | undefined, other: Spent | undefined): Spent | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return spentOf(addTokens(one.reported, other.reported), addTokens(one.estimated, other.estimated));
}

/** Reads the cost from the details of a heartbeat or failure, or returns undefined. Nothing in the details is trusted. */
export function spentIn(details: unknown): Spent | undefined {
  const claim = fieldOf(activityDetails(details), 'spent');
  return spentOf(cleanUsage(fieldOf(claim, 'reported')) ?? undefined, cleanUsage(fieldOf(claim, 'estimated')) ?? undefined);
}

function spentOf(reported: UsageStats | undefined, estimated: UsageStats | undefined): Spent | undefined {
  if (reported === undefined && estimated === undefined) return undefined;
  return defined({ reported, estimated });
}

/** Adds up tokens, and the costs that are known: the run itself adds unknown costs. */
function addTokens(one: UsageStats | undefined, other: UsageStats | undefined): UsageStats | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const field = (name: 'cachedTokens' | 'cacheWriteTokens' | 'reasoningTokens' | 'costUsd'): Partial<UsageStats> =>
    one[name] === undefined && other[name] === undefined ? {} : { [name]: (one[name] ?? 0) + (other[name] ?? 0) };
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    ...field('cachedTokens'),
    ...field('cacheWriteTokens'),
    ...field('reasoningTokens'),
    ...field('costUsd'),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

/**
 * Returns token counts that can be added up: anything other than an integer of at least 0 counts as not reported. Null if none is left. The
 * given cost is kept: it was reported by a provider, or computed where an attempt of a list of models was made.
 */
export function cleanUsage(usage: unknown): UsageStats | null {
  if (typeof usage !== 'object' || usage === null) return null;
  const fields = usage as Partial<Record<keyof UsageStats, unknown>>;
  const prompt = tokenCount(fields.promptTokens);
  const completion = tokenCount(fields.completionTokens);
  const total = tokenCount(fields.totalTokens);
  if (prompt === undefined && completion === undefined && total === undefined) return null;
  const cached = tokenCount(fields.cachedTokens);
  const written = tokenCount(fields.cacheWriteTokens);
  const reasoning = tokenCount(fields.reasoningTokens);
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    totalTokens: total ?? (prompt ?? 0) + (completion ?? 0),
    ...defined({ cachedTokens: cached, cacheWriteTokens: written, reasoningTokens: reasoning, costUsd: dollarCount(fields.costUsd) }),
  };
}

/** The maximum dollars of one call that are believed: more is not a plausible price. */
const MOST_DOLLARS = 1_000_000;

function dollarCount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MOST_DOLLARS ? value + 0 : undefined;
}

/** Returns the cost of a call in US dollars as a field of its usage, from a number or its decimal text. Empty for anything else. */
export function toldCost(told: unknown): Pick<UsageStats, 'costUsd'> {
  const cost = typeof told === 'string' && /^\d{1,7}(\.\d{1,20})?$/.test(told) ? Number(told) : told;
  return defined({ costUsd: dollarCount(cost) });
}

function tokenCount(value: unknown): number | undefined {
  // Adding 0 turns -0 into 0: JSON does not preserve -0.
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) + 0 : undefined;
}

/** The amounts used by the ended descendants of a run. They are not part of the run's own usage. */
export interface SpentByDescendants {
  /** The tokens and costs of their model calls. */
  usage: AggregatedUsage;
  /** The number of calls executed by their tools. */
  toolCalls: number;
  /** The number of these calls by tool, for tools whose calls are limited by a program above the run. Absent: there is none. */
  toolCallsByName?: Record<string, number>;
  /** The number of started runs. */
  runs: number;
}

/** The amounts of an ended run. */
interface SpentRun {
  usage: AggregatedUsage;
  toolCallsTotal: number;
  toolCallsByName: Record<string, number>;
  descendants?: SpentByDescendants;
}

/** How a child is counted. */
interface ChildCount {
  /** False for a further turn of a session, which counts as one run. */
  isNew: boolean;
  /** The tools whose calls are counted by name. */
  byName: readonly string[];
}

/** Returns the amounts plus those of an ended child and its descendants. */
export function withChild(
  before: SpentByDescendants | undefined,
  { usage, toolCallsTotal, toolCallsByName, descendants }: SpentRun,
  { isNew, byName }: ChildCount,
): SpentByDescendants {
  const { usage: spent, toolCalls, runs, ...counted } = before ?? nothingSpent();
  const ofDescendants = descendants ?? nothingSpent();
  return {
    usage: addRunUsage(addRunUsage(spent, usage), ofDescendants.usage),
    toolCalls: toolCalls + toolCallsTotal + ofDescendants.toolCalls,
    ...callsOf(byName, counted.toolCallsByName, toolCallsByName, ofDescendants.toolCallsByName),
    runs: runs + (isNew ? 1 : 0) + ofDescendants.runs,
  };
}

/** Returns the sums of the calls of tools. */
function callsOf(
  tools: readonly string[],
  ...all: readonly (Record<string, number> | undefined)[]
): Pick<SpentByDescendants, 'toolCallsByName'> {
  const sums = tools.map((tool): [string, number] => [tool, all.reduce((sum, calls = {}) => sum + (own(calls, tool) ?? 0), 0)]);
  return sums.length === 0 ? {} : { toolCallsByName: Object.fromEntries(sums) };
}

function own(calls: Record<string, number>, tool: string): number | undefined {
  return Object.hasOwn(calls, tool) ? calls[tool] : undefined;
}

/** Returns the amounts plus those of a child with unknown usage. It counts as having used everything it was given. */
export function withUnknownChild(
  before: SpentByDescendants | undefined,
  given: LimitChanges,
  runsGiven: number,
  { isNew, byName }: ChildCount,
): SpentByDescendants {
  const { usage, toolCalls, runs, ...counted } = before ?? nothingSpent();
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens, costUsd } = given;
  const estimated = {
    promptTokens: inputTokens,
    completionTokens: outputTokens,
    totalTokens,
    ...defined({ costUsd }),
  };
  return {
    usage: totalTokens === 0 && costUsd === undefined ? usage : addRunUsage(usage, { ...noUsage(), estimated }),
    toolCalls: toolCalls + (given.toolCalls ?? 0),
    ...callsOf(byName, counted.toolCallsByName, given.toolCallsByName),
    runs: runs + (isNew ? 1 : 0) + runsGiven,
  };
}

function nothingSpent(): SpentByDescendants {
  return { usage: noUsage(), toolCalls: 0, runs: 0 };
}
