import { UsageError } from '../../core/domain/errors.ts';
import type { Identity } from '../../core/domain/run.ts';
import { SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import { quoted } from '../listing/quoted.ts';
import { publishedUser } from './principal-attributes.ts';

/** The part of a filter that selects runs by whom they act for. */
export interface PrincipalFilter {
  /** Only runs that act for this tenant. */
  tenant?: string;
  /** Only runs that act for this user. */
  user?: string;
}

/** The principal whose runs a client lists, and the key by which users are hashed. */
export interface ListedPrincipal {
  /** The principal of the client; undefined if it lists all runs. */
  identity: Identity | undefined;
  userKey: string | undefined;
}

/**
 * Returns the conditions of a list: those of its filter, or those of the principal of the client, which no filter widens. Throws a
 * UsageError for a filter that a client with a principal does not take.
 */
export function principalConditions({ identity, userKey }: ListedPrincipal, filter: PrincipalFilter & { query?: string }): string[] {
  const shown = (user: string | undefined): string | undefined => (user === undefined ? undefined : publishedUser(user, userKey));
  if (identity === undefined) return [...is(SEARCH_ATTRIBUTES.tenant, filter.tenant), ...is(SEARCH_ATTRIBUTES.user, shown(filter.user))];
  const given = (['query', 'tenant', 'user'] as const).find(
    (name) => filter[name] !== undefined && filter[name] !== identity[name as 'user'],
  );
  if (given !== undefined) throw new UsageError(`a client that acts for a principal lists its runs alone: it takes no "${given}"`);
  return [exactly(SEARCH_ATTRIBUTES.tenant, identity.tenant), exactly(SEARCH_ATTRIBUTES.user, shown(identity.user))];
}

function is(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${name} = ${quoted(value)}`];
}

function exactly(name: string, value: string | undefined): string {
  return value === undefined ? `${name} IS NULL` : `${name} = ${quoted(value)}`;
}
