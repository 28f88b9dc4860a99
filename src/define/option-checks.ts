import { UsageError } from '../core/domain/errors.ts';
import { didYouMean, shownValue } from '../core/domain/text.ts';

/** The names of options. The compiler reports a missing and an unknown one. */
export type OptionTable<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, true>>;

/** A row of the options page, in Markdown. */
type OptionRow = readonly [type: string, otherwise: string, meaning: string];

/** The options with their rows of the options page. The compiler reports a missing and an unknown one. */
export type OptionReference<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, OptionRow>>;

/**
 * Throws a UsageError for an unknown option: a misspelt option would be ignored silently. `known` has the name of every option of the
 * type.
 */
export function requireKnown<Options extends object>(
  owner: string,
  options: Options,
  known: Readonly<Record<keyof NoInfer<Options>, unknown>>,
): void {
  requireKnownNames(owner, options, Object.keys(known));
}

/** Like `requireKnown`, for a list of options that depends on other options. */
export function requireKnownNames(owner: string, options: object, known: readonly string[]): void {
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue;
    throw new UsageError(`${owner} has an unknown option "${key}" (known: ${known.join(', ')})${didYouMean(key, known)}`);
  }
}

/**
 * Throws a UsageError if an option is present and undefined, such as the `user` of a request without a user, where its absence means more:
 * another identity, or the runs of all.
 */
export function requireDefined<Options extends object>(
  owner: string,
  options: Options,
  names: readonly (keyof Options & string)[],
  without: string,
): void {
  const name = names.find((one) => Object.hasOwn(options, one) && options[one] === undefined);
  if (name !== undefined) throw new UsageError(`${owner}: "${name}" is undefined: give it, or leave "${name}" out ${without}`);
}

/** Returns the number if it is a whole one of at least `least`; otherwise throws a UsageError. */
export function wholeNumber(owner: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`${owner} is ${shownValue(value)}: write a whole number of at least ${least}`);
}

/** Returns the text if it is not blank; otherwise throws a UsageError. */
export function nonEmpty(owner: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new UsageError(`${owner} is ${value === undefined ? 'missing' : JSON.stringify(value)}: write a text`);
}

/** Returns the list if it is one; otherwise throws a UsageError that says what to write in place of an object, a text, null and so on. */
export function requireList<List extends readonly unknown[]>(owner: string, list: List, written: string): List {
  if (Array.isArray(list)) return list;
  const value: unknown = list;
  const isNamed = (typeof value === 'object' && value !== null) || typeof value === 'function';
  throw new UsageError(
    `${owner} is ${isNamed ? `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}` : shownValue(value)}: write a list, ${written}`,
  );
}

/** Throws a UsageError for a value that is not a zod 4 schema, such as a schema of zod 3. */
export function requireZod(owner: string, schema: unknown): void {
  if (typeof schema === 'object' && schema !== null && '_zod' in schema) return;
  throw new UsageError(`${owner} is not a schema of zod 4: write z.object({...}) with z from "zod"`);
}
