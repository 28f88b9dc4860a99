/** The number of input tokens that an unknown model is assumed to accept. */
const UNKNOWN = 128_000;

/** The number of input tokens that models accept, by the beginning of their name; the first match counts. */
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

/** Returns the number of input tokens that a model accepts, by its name without `provider/` and other paths. */
export function contextTokens(model: string): number {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return CONTEXT_TOKENS.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}
