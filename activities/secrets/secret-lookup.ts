import { LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';
import { memberOf } from '../../src/core/domain/errors/thrown.ts';
import type { NamedSecretSource, SecretSource } from '../../src/secrets/secret-source.ts';

/** Sources that can all say where they look. Throws a UsageError for what is no source. */
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
      `the worker: "secrets" has something that is no source at place ${index + 1}: write environmentSecrets(), fileSecrets({directory}), or a function from a name to a value`,
    );
  });
}

/**
 * The value in the first source that has one; an empty text counts as none. Throws `secret_missing` with the places
 * where it was looked for, and `secret_unavailable` where a source throws or takes longer than `lookupMs`.
 */
export async function lookUp(sources: readonly NamedSecretSource[], name: string, lookupMs: number): Promise<string> {
  for (const source of sources) {
    const value = await readOne(source, name, lookupMs);
    if (value !== undefined && value !== '') return value;
  }
  const places = sources.map((source) => placeOf(source, name)).join(', ') || 'nowhere, because "secrets" is an empty list';
  throw new LonghaulError(
    'secret_missing',
    `Secret "${name}" is missing. It was looked for in: ${places}. Put it there, or say with "secrets" of the worker where it is`,
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

/** Neither the message of the error nor the error itself is passed on: either may have the value in it. */
function unavailable(source: NamedSecretSource, name: string, what: string): LonghaulError {
  return new LonghaulError(
    'secret_unavailable',
    `Secret "${name}" could not be read: ${placeOf(source, name)} ${what}. It can be tried again`,
  );
}

/** Where a source looks. It is a function of the user, and what it throws may have the value in it as well. */
function placeOf(source: NamedSecretSource, name: string): string {
  try {
    const place: unknown = source.where(name);
    if (typeof place === 'string') return place;
  } catch {
    // What was thrown is not passed on.
  }
  return 'a source that cannot say where it looks';
}

/** The code of an error, such as ECONNREFUSED, where it has one that looks like a code. */
function kindOf(error: unknown): string {
  const code = memberOf(error, 'code');
  return typeof code === 'string' && /^[A-Z][A-Z_]{1,39}$/.test(code) ? ` with ${code}` : '';
}

function isList(sources: SecretSource | readonly SecretSource[]): sources is readonly SecretSource[] {
  return Array.isArray(sources);
}
