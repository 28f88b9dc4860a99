import type { UsageStats } from './usage.ts';

/** The price of a model, in US dollars per million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  /** Input tokens that the provider had cached. Default: the price of `input`. */
  cachedInput?: number;
}

const MILLION = 1_000_000;

/** Returns the cost of some usage in US dollars. Reasoning tokens are part of the completion. */
export function costOf({ promptTokens, completionTokens, cachedTokens = 0 }: UsageStats, price: ModelPrice): number {
  const { input, output, cachedInput = input } = price;
  return ((promptTokens - cachedTokens) * input + cachedTokens * cachedInput + completionTokens * output) / MILLION;
}

/** Adds the price of a model, `provider/model`, to usage, if it is known. */
export function priced<Usage extends UsageStats>(prices: Record<string, ModelPrice> | undefined, model: string, usage: Usage): Usage {
  const price = prices?.[model];
  return price === undefined ? usage : { ...usage, costUsd: costOf(usage, price) };
}
