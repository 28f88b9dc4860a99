import { UsageError } from '../../core/domain/errors.ts';
import type { SecretReference } from '../../core/domain/deps.ts';
import { requireKnown } from '../options/option-checks.ts';

/** The options of `secret`. */
export interface SecretOptions {
  /** The text before the value when it is read: `Bearer ` makes a header of a token. */
  prefix?: string;
}

/** One or more parts of letters, digits, `-`, `_` and `.`, separated by slashes. */
const NAME = /^[a-zA-Z0-9._-]+(?:\/[a-zA-Z0-9._-]+)*$/;

const MAX_LENGTH = 100;

/**
 * Returns a reference to a secret by its name. The value is read in the worker, from the source that the worker's option
 * `secrets` sets, when it is needed: a tool reads it with `await context.secret(crmToken)`. The name goes into history and
 * messages, the value never does. Throws a UsageError for a name that is not 1 to 100 letters, digits, `-`, `_`, `.` and
 * `/`, or that could lead out of a folder as a path: with `..`, or with a slash at an end.
 *
 * @example
 * const crmToken = secret('crm-token', { prefix: 'Bearer ' });
 */
export function secret(name: string, options: SecretOptions = {}): SecretReference {
  if (typeof name !== 'string' || name === '') throw new UsageError('a secret has no name: write secret("crm-token")');
  if (!isName(name)) {
    throw new UsageError(
      `secret ${JSON.stringify(name.slice(0, MAX_LENGTH))}: this is not a valid name of a secret: use at most ${MAX_LENGTH} letters, digits, "-", "_", "." and "/", no part of which is "." or ".."`,
    );
  }
  requireKnown(`secret "${name}"`, options, ['prefix']);
  const { prefix } = options;
  if (prefix === undefined) return Object.freeze({ kind: 'longhaul.secret', name });
  if (typeof prefix !== 'string') throw new UsageError(`secret "${name}": "prefix" is ${JSON.stringify(prefix)}: write a text`);
  return Object.freeze({ kind: 'longhaul.secret', name, prefix });
}

function isName(name: string): boolean {
  return name.length <= MAX_LENGTH && NAME.test(name) && !name.split('/').some((part) => part === '.' || part === '..');
}
