import { LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';
import { memberOf } from '../../src/core/domain/errors/thrown.ts';
import type { NamedSecretSource, SecretSource } from '../../src/secrets/secret-source.ts';

/** Gives every source a location for error messages. Throws a UsageError for a value that is not a source. */
export function namedSources(sources: SecretSource | readonly SecretSource[]): NamedSecretSource[] {
  const list: readonly SecretSource[] = isList(sources) ? sources : [sources];
  return list.map((source, index) => {
    if (typeof source === 'function') {
      return {
        where: () => (list.length > 1 ? `the function at place ${index + 1} of "secrets"` : 'the function "secrets"'),
        read: source,
      };
    }
    if (typeof source === 'object' && source !== null && typeof source.read === 'function' && typeof source.where === 'function')
      return source;
    throw new UsageError(
      `the worker: "secrets" has a value at index ${index} that is not a source: write environmentSecrets(), fileSecrets({directory}), or a function from a name to a value`,
    );
  });
}

/**
 * Returns the value from the first source that has one; an empty text counts as missing. Throws `secret_missing` with
 * the locations that were searched, and `secret_unavailable` if a source throws or takes longer than `lookupMs`.
 */
export async function lookUp(sources: readonly NamedSecretSource[], name: string, lookupMs: number): Promise<string> {
  for (const source of sources) {
    const value = await readOne(source, name, lookupMs);
    if (value !== undefined && value !== '') return value;
  }
  const locations = sources.map((source) => locationOf(source, name)).join(', ') || 'nowhere, because "secrets" is an empty list';
  throw new LonghaulError(
    'secret_missing',
    `Secret "${name}" is missing. It was looked for in: ${locations}. Put it there, or say with "secrets" of the worker where it is`,
  );
}

async function readOne(source: NamedSecretSource, name: string, lookupMs: number): Promise<string | undefined> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unavailable(source, name, `has not answered within ${lookupMs} ms`)), lookupMs);
  try {
    const value: unknown = await Promise.race([reading(source, name), late]);
    if (value === undefined || typeof value === 'string') return value;
    throw unavailable(source, name, `gave something that is no text (${value === null ? 'null' : typeof value})`);
  } finally {
    clearTimeout(timer);
  }
}

async function reading(source: NamedSecretSource, name: string): Promise<unknown> {
  try {
    return await source.read(name);
  } catch (error) {
    throw unavailable(source, name, `failed${kindOf(error)}`);
  }
}

/** Neither the message of the error nor the error itself is passed on: both may contain the value. */
function unavailable(source: NamedSecretSource, name: string, what: string): LonghaulError {
  return new LonghaulError(
    'secret_unavailable',
    `Secret "${name}" could not be read: ${locationOf(source, name)} ${what}. It can be tried again`,
  );
}

/** Returns the location that a source searches. `where` is a function of the user, and its errors may contain the value too. */
function locationOf(source: NamedSecretSource, name: string): string {
  try {
    const location: unknown = source.where(name);
    if (typeof location === 'string') return location;
  } catch {
    // The error is not passed on.
  }
  return 'a source that cannot say where it looks';
}

/** Returns the code of an error, such as ECONNREFUSED, if it looks like a code. */
function kindOf(error: unknown): string {
  const code = memberOf(error, 'code');
  return typeof code === 'string' && /^[A-Z][A-Z_]{1,39}$/.test(code) ? ` with ${code}` : '';
}

function isList(sources: SecretSource | readonly SecretSource[]): sources is readonly SecretSource[] {
  return Array.isArray(sources);
}
