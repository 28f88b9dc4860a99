import type { Client } from '@temporalio/client';
import type { SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';

/**
 * The time for which a namespace is taken to lack an attribute that it refused: an administrator, or a worker that starts, may add it
 * later.
 */
const FORGET_AFTER_MS = 60_000;

/** For each client, the time at which the namespace refused its attributes, by their names. */
const refusals = new WeakMap<Client, Map<string, number>>();

/**
 * Starts a run with search attributes of Longhaul's own, and without them if the namespace does not have them: a run that lists do not
 * show as a session, for example, still works. `begin` is called again without attributes if the server refuses the request as invalid.
 */
export async function withPublishedAttributes<Value>(
  client: Client,
  attributes: SearchAttributePair[],
  begin: (attributes: SearchAttributePair[]) => Promise<Value>,
): Promise<Value> {
  const names = attributes.map(({ key }) => key.name).join(' ');
  const refused = refusals.get(client) ?? new Map<string, number>();
  refusals.set(client, refused);
  if (attributes.length === 0 || Date.now() - (refused.get(names) ?? -Infinity) < FORGET_AFTER_MS) return begin([]);
  try {
    return await begin(attributes);
  } catch (error) {
    // The error of a start together with an Update does not say which attribute it is about: the second attempt tells.
    if (grpcCode(error) !== GRPC.invalidArgument) throw error;
    const value = await begin([]);
    refused.set(names, Date.now());
    return value;
  }
}

/** Returns the attributes of a start with those of Longhaul added. */
export function mergedAttributes(
  own: TypedSearchAttributes | undefined,
  published: SearchAttributePair[],
): { typedSearchAttributes?: SearchAttributePair[] } {
  const all = [...(own?.getAll() ?? []), ...published];
  return all.length === 0 ? {} : { typedSearchAttributes: all };
}
