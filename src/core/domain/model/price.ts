import type { UsageStats } from './usage.ts';

/** What a model costs, in US dollars per million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  /** Input tokens that the provider had cached. Default: as `input`. */
  cachedInput?: number;
}

const MILLION = 1_000_000;

/** US dollars of some usage. Reasoning tokens are part of the completion. */
export function costOf({ promptTokens, completionTokens, cachedTokens = 0 }: UsageStats, price: ModelPrice): number {
  const { input, output, cachedInput = input } = price;
  return ((promptTokens - cachedTokens) * input + cachedTokens * cachedInput + completionTokens * output) / MILLION;
}
