import type { Client } from '@temporalio/client';
import { requireKnown } from '../../define/options/option-checks.ts';
import { randomUUID } from 'node:crypto';
import type { Decision, Remember } from '../../core/domain/approvals/approval.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import type { JsonObject } from '../../core/domain/json/json.ts';
import type { DecisionReceipt } from '../../core/protocol.ts';
import { decisionProblem } from '../../core/wire-schemas/requests/request-schema.ts';
import { executionBeginning } from '../../history/execution-beginning.ts';
import { answerFromRecord } from './answer-from-record.ts';
import type { DecidedOn, DecidedRun } from './decided-run.ts';
import { waitingCall } from './waiting-call.ts';
import { RunReader } from '../read/reader.ts';
import { updateRun, type UpdateOptions } from './update.ts';

/** The options of every decision. */
export interface DecisionOptions extends UpdateOptions {
  /** An id of your own, at most 64 characters: the same decision sent again is answered with its first outcome. Default: a UUID. */
  id?: string;
  /** The person or service that decides. */
  by?: string;
}

/** The options of an approval. */
export interface ApproveOptions extends DecisionOptions {
  /** Runs the call with these arguments instead. For a limit: the limits to set, such as `{costUsd: 2}`. */
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
const DECISION_OPTIONS = ['id', 'by', 'timeout', 'arguments', 'reason', 'remember'];

/** The digest for a call that does not wait: the run knows a decision on that call, and refuses everything else. */
export const NO_DIGEST = 'none';

/**
 * Sends a decision to the run, and returns its outcome. The outcome comes from the record if the run has ended or no longer
 * remembers the call. Throws, before anything is sent, for a decision whose form the run would refuse. Queries the pending
 * approvals only for the id of a call.
 */
export async function decideCall(run: DecidedRun, { type, about, content, options }: NewDecision): Promise<DecisionReceipt> {
  const { client, runId } = run;
  requireKnown(`"${type}"`, options, DECISION_OPTIONS);
  const { callId, digest, runId: owner } = typeof about === 'string' ? { callId: about } : about;
  const { id = randomUUID(), by, timeout } = options;
  const decision = { callId, id, digest: digest ?? NO_DIGEST, ...content, ...(by === undefined ? {} : { by }) };
  const problem = decisionProblem(type, decision);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The decision on call "${callId}" was not sent: ${problem}`);
  const again = { type, content, options: { ...options, id } };
  if (digest === undefined) {
    const waiting = await waitingCall(run, { callId });
    // The same decision may have been taken before, about a call of this run: it must not apply to another one.
    const isRepeatable = waiting?.runId !== runId && options.id !== undefined;
    const known = isRepeatable ? await ifKnown(() => updateRun(client, runId, { name: type, argument: decision, id })) : undefined;
    if (known !== undefined) return known;
    if (waiting !== undefined) return decideCall(run, { ...again, about: waiting });
  }
  if (owner !== undefined && owner !== runId) {
    if (await isBelow(run, owner)) return decideCall(runOf(client, owner), { ...again, about });
    const where = `it waits in run "${owner}", not in run "${runId}"`;
    throw new LonghaulError('invalid_input', `The decision on call "${callId}" was not sent: ${where}`);
  }
  try {
    const sending = timeout === undefined ? {} : { timeout };
    return await updateRun<DecisionReceipt>(client, runId, { name: type, argument: decision, id }, sending);
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'unknown_call' && code !== 'run_ended') throw error;
    // Without the run that waits, the call may be one of a run below.
    const below = owner === undefined && digest !== undefined ? await waitingCall(run, { callId, digest }) : undefined;
    if (below !== undefined && below.runId !== runId) return decideCall(run, { ...again, about: below });
    return answerFromRecord(run, { type, callId, id, isOwner: owner !== undefined, code });
  }
}

/** Returns the answer of a run to a decision on a call that does not wait in it; undefined if it knows no such call. */
async function ifKnown(decide: () => Promise<DecisionReceipt>): Promise<DecisionReceipt | undefined> {
  try {
    return await decide();
  } catch (error) {
    const code = errorCode(error);
    if (code === 'unknown_call' || code === 'run_ended') return undefined;
    throw error;
  }
}

/** True if a run was started by this one, or by one below it. An id that begins like that of a child may be another run's. */
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

function runOf(client: Client, runId: string): DecidedRun {
  return { client, runId, reader: new RunReader(client, runId) };
}
