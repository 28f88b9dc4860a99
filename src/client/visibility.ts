import { createHmac } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from '@temporalio/common';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import type { Identity } from '../core/domain/run.ts';
import { shellCommand } from '../core/domain/text.ts';
import { AGENT_RUN, PROGRAM_RUN, SEARCH_ATTRIBUTES } from '../core/protocol.ts';
import type { UnreadRun } from './unread-runs.ts';

/** The page of a list to return. */
export interface PageOptions {
  /** The maximum number of items that the server reads. */
  pageSize: number;
  /** The `next` of the previous page, of the same list with the same filter. Absent: the first page. */
  after?: string;
}

/** A page of a list. */
export interface ListPage<Item> {
  /** The entries of this page. */
  items: Item[];
  /** The cursor of the next page, valid in any process. Absent on the last one. */
  next?: string;
  /** More items match than were sorted. */
  cut?: true;
  /** The runs that could not be read: what they would add is missing. Absent if there are none. */
  unread?: UnreadRun[];
}

/** Throws `not_a_run` for a workflow whose type is not a run of an agent or a program. */
export function requireRun(client: Client, workflowId: string, type: string): void {
  if (isRunType(type)) return;
  throw new LonghaulError(
    'not_a_run',
    `"${workflowId}" in namespace "${client.options.namespace}" is a workflow of type "${type}", and no run of an agent or a program: ` +
      `"${shellCommand('show', { operands: [workflowId] })}" lists the runs that it has started`,
  );
}

const RUN_TYPES: readonly string[] = [AGENT_RUN, PROGRAM_RUN];

/** The list condition that selects only runs. */
export const IS_RUN = `WorkflowType IN (${RUN_TYPES.map(quoted).join(', ')})`;

/** True for the workflow type of a run. */
export function isRunType(type: string): boolean {
  return RUN_TYPES.includes(type);
}

/**
 * Escapes a value in quotes: values come from callers, and a quote in one must not end the text. Throws `invalid_input` for a value with a
 * NUL character, which ends the text for some databases of the server.
 */
export function quoted(value: string): string {
  if (value.includes('\0')) throw new LonghaulError('invalid_input', 'The list was not read: a filter has a NUL character. Leave it out');
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** The part of a filter that selects runs by their principal. */
export interface PrincipalFilter {
  /** Only runs that act for this tenant. */
  tenant?: string;
  /** Only runs that act for this user. */
  user?: string;
}

/** The principal whose runs a client lists, and the key that hashes users. */
interface ListedPrincipal {
  /** The principal of the client; undefined if it lists all runs. */
  identity: Identity | undefined;
  userKey: string | undefined;
}

/**
 * Returns the principal conditions of a list: from its filter, or from the client's principal, which no filter widens. Throws a
 * UsageError for a filter that a client with a principal does not accept.
 */
export function principalConditions({ identity, userKey }: ListedPrincipal, filter: PrincipalFilter & { query?: string }): string[] {
  const shown = (user: string | undefined): string | undefined => (user === undefined ? undefined : publishedUser(user, userKey));
  if (identity === undefined)
    return [...equalsIfGiven(SEARCH_ATTRIBUTES.tenant, filter.tenant), ...equalsIfGiven(SEARCH_ATTRIBUTES.user, shown(filter.user))];
  const given = (['query', 'tenant', 'user'] as const).find(
    (name) => filter[name] !== undefined && filter[name] !== identity[name as 'user'],
  );
  if (given !== undefined) throw new UsageError(`a client that acts for a principal lists its runs alone: it takes no "${given}"`);
  return [equalsOrNull(SEARCH_ATTRIBUTES.tenant, identity.tenant), equalsOrNull(SEARCH_ATTRIBUTES.user, shown(identity.user))];
}

function equalsIfGiven(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${name} = ${quoted(value)}`];
}

function equalsOrNull(name: string, value: string | undefined): string {
  return value === undefined ? `${name} IS NULL` : `${name} = ${quoted(value)}`;
}

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
const TENANT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, SearchAttributeType.KEYWORD);
const USER = defineSearchAttributeKey(SEARCH_ATTRIBUTES.user, SearchAttributeType.KEYWORD);

/** Returns the search attribute for the agent or the program of a run. Lists find the run by it even if it ends before either is resolved. */
export function agentAttribute(name: string): SearchAttributePair {
  return { key: AGENT, value: name };
}

/** Returns the search attributes for a run's principal. The server carries them over, and children get their parent's. */
export function principalAttributes({ tenant, user }: Identity, userKey: string | undefined): SearchAttributePair[] {
  return [
    ...(tenant === undefined ? [] : [{ key: TENANT, value: tenant }]),
    ...(user === undefined ? [] : [{ key: USER, value: publishedUser(user, userKey) }]),
  ];
}

/** A hashed user, as a client with a user key lists it: an HMAC-SHA-256. */
const HASHED = /^[0-9a-f]{64}$/;

/** True if a listed user looks like a hash. */
export function isHashedUser(listed: string): boolean {
  return HASHED.test(listed);
}

/** Returns the search attribute value for a user: clear text, or its HMAC if the client has a key. */
function publishedUser(user: string, userKey: string | undefined): string {
  return userKey === undefined ? user : createHmac('sha256', userKey).update(user).digest('hex');
}
