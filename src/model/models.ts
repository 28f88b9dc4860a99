import { partsOfModelName, type ModelCapabilities } from '../core/domain/model.ts';
import type { ModelPrice } from '../core/domain/usage.ts';

/** Prices by `provider/model`. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/**
 * List prices in US dollars per million tokens, for models of the provider named `openai`. They change, and contracts
 * and gateways have their own prices, so the worker's `prices` take precedence. A dated variant of a model may have
 * another price, so it is not treated as the model.
 */
const LIST_PRICES = {
  'openai/gpt-4o': { input: 2.5, cachedInput: 1.25, output: 10 },
  'openai/gpt-4o-mini': { input: 0.15, cachedInput: 0.075, output: 0.6 },
  'openai/gpt-4.1': { input: 2, cachedInput: 0.5, output: 8 },
  'openai/gpt-4.1-mini': { input: 0.4, cachedInput: 0.1, output: 1.6 },
  'openai/gpt-4.1-nano': { input: 0.1, cachedInput: 0.025, output: 0.4 },
  'openai/gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
  'openai/gpt-5-mini': { input: 0.25, cachedInput: 0.025, output: 2 },
  'openai/gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4 },
  'openai/o3': { input: 2, cachedInput: 0.5, output: 8 },
  'openai/o4-mini': { input: 1.1, cachedInput: 0.275, output: 4.4 },
} as const satisfies PriceTable;

/** A model with a known list price, which editors suggest as the model of an agent. @useDeclaredType */
export type PricedModel = keyof typeof LIST_PRICES;

/** Returns the price of a model: from the overrides, otherwise the list price; undefined if it is unknown. */
export function priceOf(model: string, overrides: PriceTable = {}): ModelPrice | undefined {
  for (const prices of [overrides, LIST_PRICES as PriceTable]) if (Object.hasOwn(prices, model)) return prices[model];
  return undefined;
}

/** The number of input tokens that an unknown model is assumed to accept. */
const UNKNOWN_MODEL_TOKENS = 128_000;

/** The number of input tokens that models accept, by name prefix; the first match counts. */
const CONTEXT_TOKENS: readonly [name: RegExp, tokens: number][] = [
  [/^gpt-5/, 272_000],
  [/^gpt-4\.1/, 1_000_000],
  [/^(gpt-4o|gpt-4-turbo|chatgpt-4o)/, 128_000],
  [/^gpt-4/, 8_192],
  [/^gpt-3\.5/, 16_385],
  [/^o\d/, 200_000],
  [/^claude/, 200_000],
  [/^gemini/, 1_000_000],
];

/**
 * Returns the number of input tokens that a model (`provider/model`) accepts: from its client, otherwise by its name without `provider/`
 * and other paths.
 */
export function contextTokens(model: string, { contextTokens: given }: Pick<ModelCapabilities, 'contextTokens'> = {}): number {
  const told = typeof given === 'function' ? given(partsOfModelName(model).id) : given;
  if (told !== undefined) return told;
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return CONTEXT_TOKENS.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN_MODEL_TOKENS;
}
