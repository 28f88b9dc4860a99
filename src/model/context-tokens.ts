/** What a model is assumed to take where nothing better is known. */
const UNKNOWN = 128_000;

/** Tokens that models take as input, by the beginning of their name; the first that fits counts. */
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

/** How many tokens of input a model takes, by its name (`provider/` and paths before it do not count). */
export function contextTokens(model: string): number {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return CONTEXT_TOKENS.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}
