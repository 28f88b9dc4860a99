import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import type { Missing } from '../../core/domain/missing-definitions.ts';
import { didYouMean } from '../../core/domain/text.ts';
import { AGENT_RUN, PROGRAM_RUN, SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import { sleep } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';
import { missingThings } from './missing-things.ts';

/** A run that was started by the name of its agent or program. */
export interface StartedByName {
  runId: string;
  kind: 'agent' | 'program';
  name: string;
}

const TYPES = { agent: AGENT_RUN, program: PROGRAM_RUN } as const;

/** The names of which a run has begun, in any namespace that the process uses. */
const seen = new LRUCache<string, true>({ max: 1_000 });

/** The names of newest runs, by namespace and kind: a minute is short for a person, and long for a client that tries again. */
const known = new LRUCache<string, string[]>({ max: 100, ttl: 60_000 });

/** Runs whose names are known to a message. */
const LISTED_RUNS = 200;
/** Names that a message lists. */
const LISTED_NAMES = 10;

/** Milliseconds between two looks at a run that was started by an unseen name. */
const LOOK_EVERY_MS = 100;

/**
 * Returns true if a worker has begun a run of that name, as far as the namespace keeps runs: one request for a name that was not seen
 * before, and none later. Rejects if the server cannot say so, as without the search attributes.
 */
async function isSeen({ workflow, options: { namespace } }: Client, { kind, name }: StartedByName): Promise<boolean> {
  const key = JSON.stringify([namespace, kind, name]);
  if (seen.has(key)) return true;
  const { count } = await workflow.count(`WorkflowType = ${quoted(TYPES[kind])} AND ${SEARCH_ATTRIBUTES.agent} = ${quoted(name)}`);
  if (count > 0) seen.set(key, true);
  return count > 0;
}

/** What a look at a run tells of its name: a worker has it, one lacks it, or neither is known so far. */
type Look = { type: 'begun' } | { type: 'missing'; missing: Missing } | { type: 'unknown' };

/** Looks at the run until a worker has begun it, or lacks its definition, and no longer than this. */
async function lookAt(client: Client, { runId, kind }: StartedByName, withinMs: number): Promise<Look> {
  for (const end = performance.now() + withinMs; performance.now() < end; await sleep(LOOK_EVERY_MS)) {
    const description = await withoutMemos(client).workflow.getHandle(runId).describe();
    const { typedSearchAttributes, status } = description;
    const hasBegun = typedSearchAttributes.getAll().some(({ key }) => key.name === SEARCH_ATTRIBUTES.agent);
    if (hasBegun || status.name !== 'RUNNING') return { type: 'begun' };
    const missing = (await missingThings(client, description)).find((one) => one.kind === kind);
    if (missing !== undefined) return { type: 'missing', missing };
  }
  return { type: 'unknown' };
}

/** How a notice is made. */
interface NoticeOptions {
  /** How long the answer of a worker is waited for, which knows better than the list of runs. Default: not at all. */
  watchMs?: number;
  /** True for a name that the caller may be told. Default: all. */
  mayName?: (name: string) => boolean;
}

/**
 * Returns the notice for the caller of a start whose agent or program no worker has run so far: its name may be misspelt. Undefined for a
 * name of which a run has begun, and if the server cannot tell. Never rejects.
 */
export async function noticeOfStart(
  client: Client,
  started: StartedByName,
  { watchMs = 0, mayName = () => true }: NoticeOptions = {},
): Promise<string | undefined> {
  try {
    if (await isSeen(client, started)) return undefined;
    const look = watchMs > 0 ? await lookAt(client, started, watchMs) : { type: 'unknown' as const };
    if (look.type === 'begun') return undefined;
    const names = look.type === 'missing' ? look.missing.known : await namesOfRuns(client, started).catch(() => []);
    return unseenText(started, names.filter(mayName));
  } catch {
    return undefined;
  }
}

/**
 * Returns what the worker that took a run says of its agent, if that lacks it and no worker has run one of that name so far. Undefined
 * otherwise, and if no worker has said so in time. Never rejects.
 */
export async function missingOfStart(client: Client, started: StartedByName, watchMs: number): Promise<Missing | undefined> {
  try {
    if (await isSeen(client, started)) return undefined;
    const look = await lookAt(client, started, watchMs);
    return look.type === 'missing' ? look.missing : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the sentences about a name that no worker has had, with those that are known. */
function unseenText({ kind, name }: StartedByName, names: readonly string[]): string {
  const listed = names.slice(0, LISTED_NAMES).map((one) => JSON.stringify(one));
  const more = names.length > LISTED_NAMES ? ', …' : '';
  return [
    `No worker has run ${kind === 'agent' ? 'an' : 'a'} ${kind} ${JSON.stringify(name)} so far${didYouMean(name, names) || '.'}`,
    ...(names.length === 0 ? [] : [`Known: ${listed.join(', ')}${more}.`]),
    'The run is safe, and begins as soon as a worker has it.',
  ].join(' ');
}

/** Returns the names of agents or programs of which the newest runs are, those of the newest first. */
async function namesOfRuns(client: Client, { kind }: StartedByName): Promise<string[]> {
  const { namespace } = client.options;
  const key = JSON.stringify([namespace, kind]);
  const kept = known.get(key);
  if (kept !== undefined) return kept;
  const query = `WorkflowType = ${quoted(TYPES[kind])} AND ${SEARCH_ATTRIBUTES.agent} IS NOT NULL`;
  const { executions } = await client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: LISTED_RUNS });
  const names = (executions ?? []).map((one) => textOf(one.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent]));
  const unique = [...new Set(names.filter((name) => name !== undefined))];
  known.set(key, unique);
  return unique;
}

/** Returns a search attribute, which is never encoded. */
function textOf(payload: { data?: Uint8Array | null } | null | undefined): string | undefined {
  const value: unknown = payload?.data ? JSON.parse(Buffer.from(payload.data).toString('utf8')) : undefined;
  return typeof value === 'string' ? value : undefined;
}
