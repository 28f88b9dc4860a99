import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import {
  alreadyDecided,
  type ApprovalView,
  type Decision,
  NO_DIGEST,
  notOpen,
  type PendingApproval,
  type RefusedRequest,
  type Remember,
  withoutContent,
} from '../core/domain/approvals.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import { errorCode, isErrorCode, LonghaulError } from '../core/domain/errors.ts';
import { reusedId } from '../core/domain/requests.ts';
import type { RunSubject } from '../core/domain/run.ts';
import type { DecisionReceipt } from '../core/protocol.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { executionBeginning } from '../history/execution-reader.ts';
import { readExecution } from '../history/read-run.ts';
import { sleep } from '../temporal/waiting.ts';
import type { RunChain } from './executions.ts';
import { type ExecutionFilter, listRuns, runsPage } from './list.ts';
import { RunReader } from './reader.ts';
import { readTreeRuns } from './run-tree.ts';
import { readRuns, type RunRead, UnreadReport, type UnreadRun, type UnreadRuns } from './unread-runs.ts';
import { checkUpdate } from './update-checks.ts';
import { type UpdateOptions, updateRun } from './updates.ts';
import type { ListPage, PageOptions, PrincipalFilter } from './visibility.ts';

/** The options of every decision. */
export interface DecisionOptions extends UpdateOptions {
  /** Your id, at most 64 characters: a decision that is sent again gets the first outcome. Default: a UUID. */
  id?: string;
  /** The person or service that decides. */
  by?: string;
}

/** The options of an approval. */
export interface ApproveOptions extends DecisionOptions {
  /** Replaces the arguments of the call. For a limit: the limits to set, such as `{steps: 30}`. */
  arguments?: JsonObject;
  /** Approves further calls as well: of the tool, or of the tool with equal arguments. */
  remember?: Remember;
}

/** The options of a rejection. */
export interface RejectOptions extends DecisionOptions {
  /** The reason, for the model to read. */
  reason?: string;
  /** Rejects further calls as well: of the tool, or of the tool with equal arguments. */
  remember?: Remember;
}

/** A decision to send. `content` has the fields of its type. */
export interface NewDecision {
  type: Decision['type'];
  about: DecidedOn;
  content: object;
  options: DecisionOptions;
}

/** The options of all three types of decision. */
const DECISION_OPTIONS: OptionTable<ApproveOptions & RejectOptions> = {
  id: true,
  by: true,
  timeout: true,
  arguments: true,
  reason: true,
  remember: true,
};

/**
 * Sends a decision to the run, and returns its outcome. The outcome comes from the record if the run has ended or no longer
 * remembers the call. Throws before sending anything if the run would refuse the decision's form. Queries the pending
 * approvals only for the id of a call.
 */
export async function decideCall(run: DecidedRun, { type, about, content, options }: NewDecision): Promise<DecisionReceipt> {
  const { client, runId } = run;
  requireKnown(`"${type}"`, options, DECISION_OPTIONS);
  const { callId, digest, runId: owner } = typeof about === 'string' ? { callId: about } : about;
  const { id = randomUUID(), by, timeout } = options;
  const decision = { callId, id, digest: digest ?? NO_DIGEST, ...defined({ ...content, by }) };
  checkUpdate(type, runId, decision);
  const again = { type, content, options: { ...options, id } };
  if (digest === undefined) {
    const waiting = await waitingCall(run, { callId });
    // The same decision may have been taken before, for a call of this run: it must not apply to another call.
    const isRepeatable = waiting?.runId !== runId && options.id !== undefined;
    const known = isRepeatable ? await ifKnown(() => updateRun(client, runId, { name: type, argument: decision, id })) : undefined;
    if (known !== undefined) return known;
    if (waiting !== undefined) return decideCall(run, { ...again, about: waiting });
  }
  if (owner !== undefined && owner !== runId) {
    if (await isBelow(run, owner)) return decideCall({ client, runId: owner, reader: new RunReader(client, owner) }, { ...again, about });
    const where = `it waits in run "${owner}", not in run "${runId}"`;
    throw new LonghaulError('invalid_input', `The decision on call "${callId}" was not sent: ${where}`);
  }
  try {
    const sending = defined({ timeout });
    return await updateRun<DecisionReceipt>(client, runId, { name: type, argument: decision, id }, sending);
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'unknown_call' && code !== 'run_ended') throw error;
    // Without the id of the waiting run, the call may belong to a descendant.
    const below = owner === undefined && digest !== undefined ? await waitingCall(run, { callId, digest }) : undefined;
    if (below !== undefined && below.runId !== runId) return decideCall(run, { ...again, about: below });
    return answerFromRecord(run, { type, callId, id, digest: decision.digest, content, isOwner: owner !== undefined, code });
  }
}

/** Returns the run's answer to a decision on a call that does not wait in it; undefined if the run does not know the call. */
async function ifKnown(decide: () => Promise<DecisionReceipt>): Promise<DecisionReceipt | undefined> {
  try {
    return await decide();
  } catch (error) {
    const code = errorCode(error);
    if (code === 'unknown_call' || code === 'run_ended') return undefined;
    throw error;
  }
}

/** True if a run was started by this one or by a descendant. The prefix of an id is no proof: an unrelated run may share it. */
async function isBelow({ client, runId }: DecidedRun, other: string): Promise<boolean> {
  if (!other.startsWith(`${runId}/`)) return false;
  let id: string | undefined = other;
  while (id !== undefined && id !== runId) {
    const beginning = await executionBeginning(client, id);
    // A run that the server does not have takes no decision.
    if (beginning === undefined) return id === other;
    id = beginning.parentRunId;
  }
  return id === runId;
}

/**
 * Returns the approval that waits for a call id, in the run or a descendant; undefined if there is none. Throws
 * `ambiguous_call` if calls of several runs have that id.
 */
async function waitingCall(
  { runId, reader }: DecidedRun,
  { callId, digest }: { callId: string; digest?: string },
): Promise<ListedApproval | undefined> {
  // Nothing waits in a run that has ended, and there may be no worker to answer.
  if ((await reader.chain.newest()).closed) return undefined;
  const { pending } = await reader.approvals();
  const [waiting, ...others] = pending.filter((one) => one.callId === callId && (digest === undefined || one.digest === digest));
  if (others.length === 0 || waiting === undefined) return waiting;
  const runs = [waiting, ...others].map((one) => `"${one.runId ?? runId}"`).join(', ');
  throw new LonghaulError(
    'ambiguous_call',
    `Call "${callId}" waits in ${others.length + 1} runs of the tree of "${runId}": ${runs}. Say which one: pass the approval as ` +
      `approvals() lists it, or {callId, digest, runId}; with the command, name the run by --in`,
  );
}

/** A decision that the run has not taken, because no such call waits. */
interface UntakenDecision extends Pick<Decision, 'type' | 'callId' | 'id' | 'digest'> {
  /** True if the call can only belong to this run: descendants are not asked. */
  isOwner: boolean;
  /** The fields of its type. */
  content: object;
  code: 'unknown_call' | 'run_ended';
}

/** Answers a decision from the record of the run, and of its descendants, or throws why it cannot be taken. */
async function answerFromRecord(run: DecidedRun, untaken: UntakenDecision): Promise<DecisionReceipt> {
  const { runId, reader } = run;
  const { callId, code, isOwner } = untaken;
  const own = await recordedDecision(run.client, runId, reader.chain, untaken);
  const { found, of } = own.type === 'unknown' && !isOwner ? await recordedBelow(run, untaken) : { found: own, of: runId };
  const answer = receiptOf(found, of, untaken);
  if (answer !== undefined) return answer;
  if (found.type === 'waited' && code === 'run_ended')
    throw new LonghaulError('run_ended', `Run "${runId}" has ended, and call "${callId}" had no decision`);
  if (code === 'run_ended')
    throw new LonghaulError('unknown_call', `No call "${callId}" of run "${runId}" has waited for a decision, and the run has ended`);
  const { pending } = await reader.approvals();
  const waiting = pending.map((one) => `"${one.callId}" (${one.toolName})`);
  const instead = waiting.length === 0 ? 'no call does' : `the waiting calls are ${waiting.join(', ')}`;
  throw new LonghaulError('unknown_call', `No call "${callId}" of run "${runId}" waits for a decision: ${instead}`);
}

/** Looks for a decision in the records of the descendants of a run. */
async function recordedBelow(
  { client, runId }: DecidedRun,
  sought: Pick<Decision, 'callId' | 'id'>,
): Promise<{ found: RecordedDecision; of: string }> {
  for (const { run } of await readTreeRuns(client, runId)) {
    if (run.runId === runId) continue;
    const found = await recordedDecision(client, run.runId, run.reader.chain, sought);
    if (found.type !== 'unknown') return { found, of: run.runId };
  }
  return { found: { type: 'unknown' }, of: runId };
}

/** Returns the outcome of a decision, or undefined. Throws if the call was decided differently, or the decision was refused. */
function receiptOf(
  found: RecordedDecision,
  runId: string,
  { type, callId, id, digest, content }: Omit<UntakenDecision, 'isOwner' | 'code'>,
): DecisionReceipt | undefined {
  if (found.type === 'refused') {
    const { code, message } = found.refused;
    throw new LonghaulError(isErrorCode(code) ? code : 'not_authorized', message);
  }
  if (found.type !== 'decided') return undefined;
  const { decision } = found;
  if (decision.id === id && (decision.callId !== callId || (decision.type === type && !repeats(decision, content)))) {
    const { code, message } = reusedId(runId, id);
    throw new LonghaulError(code, message);
  }
  if (decision.id === id && decision.type === type) return { version: 1, status: 'repeated', decision: withoutContent(decision) };
  const { code, message } = decision.id === id ? alreadyDecided(runId, decision) : notOpen(runId, decision, digest);
  throw new LonghaulError(code, message);
}

/** True for a decision that was sent before with the same content, or that leaves out its content. */
function repeats(recorded: Decision, content: object): boolean {
  const { arguments: edited, sentArguments = edited, content: answer, reason, remember } = recorded;
  const before: Record<string, unknown> = { arguments: sentArguments, content: answer, reason, remember };
  return Object.keys(content).length === 0 || isDeepStrictEqual(plainJson(defined(before)), plainJson(content));
}

function plainJson(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The outcome of a call according to the record of the run. */
type RecordedDecision =
  /** Decided by the decision with that id, or by another one: the caller compares. */
  | { type: 'decided'; decision: Decision }
  /** The decision with that id was refused by `authorize`, or came too late. */
  | { type: 'refused'; refused: RefusedRequest }
  /** The call has waited, and has no decision. */
  | { type: 'waited' }
  /** No call with that id has ever waited. */
  | { type: 'unknown' };

/** Looks for a decision by its id or its call id, in all executions of a run that the server still has, newest first. */
async function recordedDecision(
  client: Client,
  runId: string,
  chain: RunChain,
  { id, callId }: { id: string; callId: string },
): Promise<RecordedDecision> {
  let found: RecordedDecision = { type: 'unknown' };
  for (const { executionId } of (await chain.executions()).toReversed()) {
    const read = await readExecution(client, runId, executionId);
    if (read === undefined) break;
    const decision = read.events.findLast(({ decision: one }) => one?.id === id || one?.callId === callId)?.decision;
    if (decision !== undefined) return { type: 'decided', decision };
    const refused = read.events.findLast(({ refused: one }) => one?.id === id && one.callId === callId)?.refused;
    if (refused !== undefined && found.type !== 'refused') found = { type: 'refused', refused };
    if (found.type === 'unknown' && read.run.waited.has(callId)) found = { type: 'waited' };
  }
  return found;
}

/**
 * A pending approval as it was listed by `handle.approvals()`, by `client.approvals()` or in a notice of `notify`: a decision
 * applies to exactly what was shown. `runId` is the run that waits; without it, it is the run of the handle or a descendant.
 */
export type ListedApproval = Pick<PendingApproval, 'callId' | 'digest'> & { readonly runId?: string };

/** The subject of a decision: a listed approval, or a call id, which means the approval that waits under that id now. */
export type DecidedOn = ListedApproval | string;

interface DecidedRun {
  client: Client;
  runId: string;
  reader: RunReader;
}

/** The approvals to list. */
export interface ApprovalFilter extends PrincipalFilter, UnreadRuns {
  /** Only calls of runs of this agent. */
  agent?: string;
  /** Only calls of this tool. */
  tool?: string;
  /** The largest number of approvals. Default: all. */
  limit?: number;
  /** True to wait for further approvals until the signal is aborted. Each pending approval is listed once. */
  follow?: boolean;
  /** Ends the search: the iterator throws the reason of the signal. */
  signal?: AbortSignal;
}

type ConditionedApprovals = ApprovalFilter & Pick<ExecutionFilter, 'principalConditions'>;

/** A pending approval, and the run that waits. */
export interface RunApproval extends ApprovalView {
  runId: string;
  /** What an approver needs to know about that run. */
  about: RunSubject;
}

/** The pauses between two rounds: short while approvals arrive, longer otherwise, and at least as long as the round took. */
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/** Yields the pending approvals of all runs of the namespace. Rejects with the signal's reason once it is aborted. */
export async function* listApprovals(client: Client, filter: ConditionedApprovals = {}): AsyncGenerator<RunApproval> {
  const { limit = Infinity, follow = false, signal } = filter;
  const seen = seenItems();
  const report = new UnreadReport(filter);
  let listed = 0;
  let wait = SHORTEST_PAUSE_MS;
  for (;;) {
    const begun = Date.now();
    let isNew = false;
    for await (const { value: waiting, unread } of waitingNow(client, filter)) {
      signal?.throwIfAborted();
      if (listed >= limit) return;
      if (unread !== undefined) {
        if (!isSeen(seen, [unread.runId])) report.note(unread);
        continue;
      }
      if (isSeen(seen, [waiting.runId, waiting.key])) continue;
      listed += 1;
      isNew = true;
      yield waiting;
    }
    if (listed >= limit) return;
    if (!follow) return report.end();
    wait = isNew ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
    await sleep(Math.max(wait, Date.now() - begun), signal);
  }
}

/** Milliseconds after which something that is no longer listed is forgotten. A run can be missing from a list for a moment. */
const REMEMBERED_MS = 600_000;

/** Makes the cache of what was already listed: approvals, by their run and key, and unread runs. */
function seenItems(): LRUCache<string, true> {
  return new LRUCache({ ttl: REMEMBERED_MS, ttlAutopurge: true });
}

/** Marks an item as seen. True if it was seen before. */
function isSeen(seen: LRUCache<string, true>, item: readonly string[]): boolean {
  const id = JSON.stringify(item);
  const isKnown = seen.has(id);
  seen.set(id, true);
  return isKnown;
}

/** Yields the pending approvals, run by run, and the runs that could not be read. */
async function* waitingNow(client: Client, filter: ConditionedApprovals): AsyncGenerator<RunRead<RunApproval>> {
  const { tool } = filter;
  for await (const { value, unread } of readRuns(client, waitingRuns(client, filter), ({ runId }) => approvalsOf(client, runId))) {
    for (const one of value?.pending ?? []) if (tool === undefined || one.toolName === tool) yield { value: one };
    for (const one of unread === undefined ? (value?.unread ?? []) : [unread]) yield { unread: one };
  }
}

/** Returns the pending approvals of a page of the runs that wait. */
export async function approvalsPage(client: Client, filter: ConditionedApprovals, page: PageOptions): Promise<ListPage<RunApproval>> {
  const { agent, tool } = filter;
  const { items: runs, ...next } = await runsPage(client, waitingFilter(filter), page);
  const items: RunApproval[] = [];
  const unreadRuns: UnreadRun[] = [];
  const seen = seenItems();
  const ofRun = async ({ runId }: { runId: string }): Promise<ApprovalsOfRun> => {
    const found = await approvalsOf(client, runId);
    // A waiting descendant is listed itself, maybe on another page. With `agent`, only runs of that agent are listed.
    return agent === undefined ? { pending: found.pending.filter((one) => one.runId === runId), unread: [] } : found;
  };
  for await (const { value, unread } of readRuns(client, runs, ofRun)) {
    const isWanted = ({ toolName }: RunApproval): boolean => tool === undefined || toolName === tool;
    items.push(...(value?.pending ?? []).filter((one) => isWanted(one) && !isSeen(seen, [one.runId, one.key])));
    unreadRuns.push(...(unread === undefined ? (value?.unread ?? []) : [unread]).filter(({ runId }) => !isSeen(seen, [runId])));
  }
  return { items, ...next, ...(unreadRuns.length === 0 ? {} : { unread: unreadRuns }) };
}

/** Yields the runs that wait for a decision. */
async function* waitingRuns(client: Client, filter: ConditionedApprovals): AsyncGenerator<{ runId: string }> {
  for await (const run of listRuns(client, waitingFilter(filter))) {
    filter.signal?.throwIfAborted();
    yield run;
  }
}

function waitingFilter({ agent, tool, principalConditions }: ConditionedApprovals): ExecutionFilter {
  return {
    ...defined({ agent, principalConditions }),
    waitingFor: tool ?? true,
  };
}

/** The pending approvals of a run and its descendants, without those of the descendants that could not be read. */
interface ApprovalsOfRun {
  pending: RunApproval[];
  unread: UnreadRun[];
}

/** Returns the pending approvals of a run; none if it was deleted after it was listed. */
async function approvalsOf(client: Client, runId: string): Promise<ApprovalsOfRun> {
  try {
    const { pending, about, unread } = await new RunReader(client, runId).readableApprovals();
    return { pending: pending.map((waiting) => ({ runId, about, ...waiting })), unread };
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return { pending: [], unread: [] };
    throw error;
  }
}
