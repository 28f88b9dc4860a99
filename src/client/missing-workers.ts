import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { LRUCache } from 'lru-cache';
import { isErrorCode } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { type Missing, missingIn, missingText, nameOfMissing } from '../core/domain/missing-definitions.ts';
import { didYouMean } from '../core/domain/text.ts';
import { AGENT_RUN, PROGRAM_RUN, SEARCH_ATTRIBUTES } from '../core/protocol.ts';
import { withoutMemos } from '../temporal/run-workflow.ts';
import { sleep } from '../temporal/waiting.ts';
import { quoted } from './visibility.ts';

/** The time after which a worker that lacks something has said so. */
const FIRST_LOOK_MS = 700;

/** The time after which there is probably no worker: a worker takes a run within milliseconds. */
const NO_WORKER_MS = 3_000;

/** The events of a history before a worker has taken the run: started, and the first task scheduled. */
const EVENTS_BEFORE_WORKER = 2;

/** The most events of a history before the run has resolved its agent and calls a model. */
const EVENTS_BEFORE_AGENT = 14;

/** Milliseconds between later checks of a run: something that it needs may also go missing later. */
const EVERY_MS = 15_000;

/**
 * Reports if no worker has taken a run a few seconds after its start, and if the workers that take its tasks lack something,
 * such as an agent whose name was misspelt. The run is safe, but the caller who waits for it should know why nothing
 * happens. Never rejects, and stops with the signal.
 */
export async function watchForWorker(client: Client, runId: string, signal: AbortSignal, report: (line: string) => void): Promise<void> {
  const reported = new Set<string>();
  const reportOnce = (line: string, key = line): void => {
    if (signal.aborted || reported.has(key)) return;
    reported.add(key);
    report(line);
  };
  try {
    const waits = [FIRST_LOOK_MS, NO_WORKER_MS - FIRST_LOOK_MS];
    for (let look = 0; ; look += 1) {
      const wait = waits[look] ?? EVERY_MS;
      await sleep(wait, signal);
      const description = await withoutMemos(client).workflow.getHandle(runId).describe();
      const { historyLength, taskQueue, status } = description;
      if (status.name !== 'RUNNING') return;
      if (look > 0 && historyLength <= EVENTS_BEFORE_WORKER) reportOnce(noWorkerText(client, runId, taskQueue));
      for (const missing of await missingThings(client, description)) reportOnce(missingText(missing), nameOfMissing(missing));
    }
  } catch {
    // The wait is over, or the server is unreachable: the caller who waits for the run gets that error anyway.
  }
}

function noWorkerText(client: Client, runId: string, taskQueue: string): string {
  return (
    `No worker has taken run "${runId}" yet: is one polling task queue "${taskQueue}" in namespace "${client.options.namespace}"? ` +
    'The run is safe and begins as soon as one does.'
  );
}

/** A run whose agent or program was given by name. */
export interface StartedByName {
  runId: string;
  kind: 'agent' | 'program';
  name: string;
}

const TYPES = { agent: AGENT_RUN, program: PROGRAM_RUN } as const;

/** The names with a run that has begun, in any namespace that the process uses. */
const seenNames = new LRUCache<string, true>({ max: 1_000 });

/** The names of the newest runs, by namespace and kind. A minute is short for a person, and long for a client that retries. */
const namesOfRunsKnown = new LRUCache<string, string[]>({ max: 100, ttl: 60_000 });

/** The condition for runs that a worker has resolved: the start of a run publishes its name, and a worker its status. */
const IS_RESOLVED = `${SEARCH_ATTRIBUTES.status} IS NOT NULL`;

/** The number of newest runs whose names a message may list. */
const LISTED_RUNS = 200;
const LISTED_NAMES = 10;

/** Milliseconds between two checks of a run with an unseen name. */
const LOOK_EVERY_MS = 100;

/**
 * Returns true if a worker has begun a run with this name, as far as the namespace keeps runs. Makes one request for an unseen
 * name, and none after that. Rejects if the server cannot answer, as without the search attributes.
 */
async function isSeen({ workflow, options: { namespace } }: Client, { kind, name }: StartedByName): Promise<boolean> {
  const key = JSON.stringify([namespace, kind, name]);
  if (seenNames.has(key)) return true;
  const { count } = await workflow.count(
    `WorkflowType = ${quoted(TYPES[kind])} AND ${SEARCH_ATTRIBUTES.agent} = ${quoted(name)} AND ${IS_RESOLVED}`,
  );
  if (count > 0) seenNames.set(key, true);
  return count > 0;
}

/** What a check of a run says about its name: a worker has it, a worker lacks it, or neither is known yet. */
type Look = { type: 'begun' } | { type: 'missing'; missing: Missing } | { type: 'unknown' };

/** How long to wait, in milliseconds: until a worker has taken the run, and until it has begun it or reported a missing definition. */
export interface LookTimes {
  takenMs: number;
  begunMs: number;
}

/** Checks the run until a worker has begun it or reported a missing definition, for at most these times. */
async function lookAt(client: Client, { runId, kind }: StartedByName, { takenMs, begunMs }: LookTimes): Promise<Look> {
  const start = performance.now();
  for (let isTaken = false; performance.now() - start < (isTaken ? begunMs : takenMs); await sleep(LOOK_EVERY_MS)) {
    const description = await withoutMemos(client).workflow.getHandle(runId).describe();
    const { typedSearchAttributes, status, historyLength } = description;
    isTaken = historyLength > EVENTS_BEFORE_WORKER;
    const missing = (await missingThings(client, description)).find((one) => one.kind === kind);
    if (missing !== undefined) return { type: 'missing', missing };
    const isResolved = typedSearchAttributes.getAll().some(({ key }) => key.name === SEARCH_ATTRIBUTES.status);
    if (isResolved || status.name !== 'RUNNING' || historyLength > EVENTS_BEFORE_AGENT) return { type: 'begun' };
  }
  return { type: 'unknown' };
}

/** How a notice is made. */
interface NoticeOptions {
  /** How long to wait for a worker's answer, which is more reliable than the list of runs. Default: not at all. */
  watchMs?: number;
  /** True for a name that may be shown to the caller. Default: all. */
  mayName?: (name: string) => boolean;
}

/**
 * Returns a notice for a start whose agent or program no worker has run so far: its name may be misspelt. Undefined if a
 * run with this name has begun, or if the server cannot answer. Never rejects.
 */
export async function noticeOfStart(
  client: Client,
  started: StartedByName,
  { watchMs = 0, mayName = () => true }: NoticeOptions = {},
): Promise<string | undefined> {
  try {
    if (await isSeen(client, started)) return undefined;
    const look = watchMs > 0 ? await lookAt(client, started, { takenMs: watchMs, begunMs: watchMs }) : { type: 'unknown' as const };
    if (look.type === 'begun') return undefined;
    const names = look.type === 'missing' ? look.missing.known : await namesOfRuns(client, started).catch(() => []);
    return unseenText(started, names.filter(mayName));
  } catch {
    return undefined;
  }
}

/**
 * Returns what the worker that took a run reports as missing, if it lacks the agent and no worker has run one with this name. Undefined
 * otherwise, and if no worker has reported in time. Never rejects.
 */
export async function missingOfStart(client: Client, started: StartedByName, times: LookTimes): Promise<Missing | undefined> {
  try {
    if (await isSeen(client, started)) return undefined;
    const look = await lookAt(client, started, times);
    return look.type === 'missing' ? look.missing : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the message about a name that no worker has had, with the known names. */
function unseenText({ kind, name }: StartedByName, names: readonly string[]): string {
  const listed = names.slice(0, LISTED_NAMES).map((one) => JSON.stringify(one));
  const more = names.length > LISTED_NAMES ? ', …' : '';
  return [
    `No worker has run ${kind === 'agent' ? 'an' : 'a'} ${kind} ${JSON.stringify(name)} so far${didYouMean(name, names) || '.'}`,
    ...(names.length === 0 ? [] : [`Known: ${listed.join(', ')}${more}.`]),
    'The run is safe, and begins as soon as a worker has it.',
  ].join(' ');
}

/** Returns the names of the agents or programs of the newest runs, newest first. */
async function namesOfRuns(client: Client, { kind }: StartedByName): Promise<string[]> {
  const { namespace } = client.options;
  const key = JSON.stringify([namespace, kind]);
  const kept = namesOfRunsKnown.get(key);
  if (kept !== undefined) return kept;
  const query = `WorkflowType = ${quoted(TYPES[kind])} AND ${IS_RESOLVED}`;
  const { executions } = await client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: LISTED_RUNS });
  const names = (executions ?? []).map((one) => payloadText(one.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent]));
  const unique = [...new Set(names.filter((name) => name !== undefined))];
  namesOfRunsKnown.set(key, unique);
  return unique;
}

/** Returns a search attribute, which is never encoded. */
function payloadText(payload: { data?: Uint8Array | null } | null | undefined): string | undefined {
  const value: unknown = payload?.data ? JSON.parse(Buffer.from(payload.data).toString('utf8')) : undefined;
  return typeof value === 'string' ? value : undefined;
}

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Returns what activities of a run wait for because no worker has had it. Only the failures of their last attempts say so, no event. */
export async function missingThings(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<Missing[]> {
  const all = await Promise.all((raw.pendingActivities ?? []).map((one) => missingFor(client, one)));
  return all.filter((one) => one !== undefined);
}

async function missingFor(client: Client, { lastFailure }: Pending): Promise<Missing | undefined> {
  const failure = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, lastFailure);
  if (!(failure instanceof ApplicationFailure)) return undefined;
  const { kind, name, known, worker, since, until } = missingIn(failure.details?.[0]) ?? {};
  if (kind === undefined || name === undefined || since === undefined || until === undefined) return undefined;
  const code = isErrorCode(failure.type) ? failure.type : 'unknown_tool';
  return { kind, name, known: known ?? [], code, ...defined({ worker }), since, until };
}

/** Returns what the run reports as missing, updated with the server's newest information: the worker that lacked it last. */
export function withNewest(reported: readonly Missing[], newest: readonly Missing[]): Missing[] {
  const isSame = (one: Missing, other: Missing): boolean => one.kind === other.kind && one.name === other.name;
  const known = reported.map((one) => ({ ...one, ...defined({ worker: newest.find((other) => isSame(one, other))?.worker }) }));
  return [...known, ...newest.filter((one) => !reported.some((other) => isSame(one, other)))];
}
