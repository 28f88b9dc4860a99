import type { Client } from '@temporalio/client';
import type { SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import { memberOf } from '../../core/domain/errors.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';

/**
 * The time for which a namespace is taken to lack an attribute that it refused: an administrator, or a worker that starts, may add it
 * at any moment, and a run that was started without it is in no list.
 */
const FORGET_AFTER_MS = 5_000;

/** The texts by which servers say that a namespace does not have an attribute, and not that its value is wrong. */
const IS_MISSING = /no mapping|not defined|not registered|not a valid search attribute/i;

/** For each client, the times at which the namespace refused attributes, by their names. */
const refusals = new WeakMap<Client, Map<string, number>>();

/**
 * Starts a run with search attributes of Longhaul's own, and without those that the namespace does not have: a run that lists do not show
 * as a session, for example, still works. `begin` is called again if the server refuses the request as invalid: without the attributes
 * that it names, or without all of them if it names none.
 */
export async function withPublishedAttributes<Value>(
  client: Client,
  attributes: SearchAttributePair[],
  begin: (attributes: SearchAttributePair[]) => Promise<Value>,
): Promise<Value> {
  const refused = refusals.get(client) ?? new Map<string, number>();
  refusals.set(client, refused);
  let left = attributes.filter(({ key }) => Date.now() - (refused.get(key.name) ?? -Infinity) >= FORGET_AFTER_MS);
  for (;;) {
    try {
      return await begin(left);
    } catch (error) {
      if (left.length === 0 || grpcCode(error) !== GRPC.invalidArgument) throw error;
      const text = textOf(error);
      const named = left.filter(({ key }) => new RegExp(`\\b${key.name}\\b`).test(text));
      // The value of one user must not leave out the attribute for others.
      if (IS_MISSING.test(text)) for (const { key } of named) refused.set(key.name, Date.now());
      left = left.filter((one) => named.length > 0 && !named.includes(one));
    }
  }
}

/** Returns all that an error of the server says: the SDK wraps some of them. */
function textOf(error: unknown): string {
  const texts = [error, memberOf(error, 'cause')].flatMap((one) => [memberOf(one, 'message'), memberOf(one, 'details')]);
  return texts.filter((text) => typeof text === 'string').join('\n');
}

/** Returns the attributes of a start with those of Longhaul added. */
export function mergedAttributes(
  own: TypedSearchAttributes | undefined,
  published: SearchAttributePair[],
): { typedSearchAttributes?: SearchAttributePair[] } {
  const all = [...(own?.getAll() ?? []), ...published];
  return all.length === 0 ? {} : { typedSearchAttributes: all };
}
