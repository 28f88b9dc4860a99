import type { Client } from '@temporalio/client';
import { requireKnown } from '../../define/options/option-checks.ts';
import { randomUUID } from 'node:crypto';
import type { Decision, PendingApproval, Remember } from '../../core/domain/approvals/approval.ts';
import { errorCode, isErrorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import type { JsonObject } from '../../core/domain/json/json.ts';
import { withoutContent } from '../../core/loop/approvals/approvals.ts';
import type { DecisionReceipt } from '../../core/protocol.ts';
import { alreadyDecided } from '../../core/domain/approvals/already-decided.ts';
import { decisionProblem } from '../../core/wire-schemas/request-schema.ts';
import { recordedDecision } from './recorded-decision.ts';
import { RunReader } from '../read/reader.ts';
import { updateRun, type UpdateOptions } from './update.ts';

/**
 * A pending approval as it was listed by `handle.approvals()`, by `client.approvals()` or in a notice of `notify`: a decision
 * on it is about exactly what was shown. `runId` is there if it was listed with those of other runs.
 */
export type ListedApproval = Pick<PendingApproval, 'callId' | 'digest'> & { readonly runId?: string };

/** The subject of a decision: a listed approval, or the id of a call, which stands for the approval that waits under that id now. */
export type DecidedOn = ListedApproval | string;

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

/** A run whose calls are decided on. */
export interface DecidedRun {
  client: Client;
  runId: string;
  reader: RunReader;
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
const NO_DIGEST = 'none';

/**
 * Sends a decision to the run, and returns its outcome. The outcome comes from the record if the run has ended or no longer
 * remembers the call. Throws, before anything is sent, for a decision whose form the run would refuse. Queries the pending
 * approvals only for the id of a call.
 */
export async function decideCall(run: DecidedRun, { type, about, content, options }: NewDecision): Promise<DecisionReceipt> {
  const { client, runId } = run;
  requireKnown(`"${type}"`, options, DECISION_OPTIONS);
  const { callId, digest, runId: owner = runId } = listed(run, about);
  const { id = randomUUID(), by, timeout } = options;
  const decision = { callId, id, digest: digest ?? NO_DIGEST, ...content, ...(by === undefined ? {} : { by }) };
  const problem = decisionProblem(type, decision);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The decision on call "${callId}" was not sent: ${problem}`);
  if (digest === undefined) {
    const waiting = await waitingFor(run, callId);
    if (waiting !== undefined) return decideCall(run, { type, about: waiting, content, options: { ...options, id } });
  }
  if (owner !== runId) return decideCall(runOf(client, owner), { type, about, content, options: { ...options, id } });
  try {
    const sending = timeout === undefined ? {} : { timeout };
    return await updateRun<DecisionReceipt>(client, runId, { name: type, argument: decision, id }, sending);
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'unknown_call' && code !== 'run_ended') throw error;
    return fromRecord(run, { type, callId, id }, code);
  }
}

function listed({ runId }: DecidedRun, about: DecidedOn): { callId: string; digest?: string; runId?: string } {
  if (typeof about === 'string') return { callId: about };
  // The id of a child begins with that of its parent.
  if (about.runId === undefined || about.runId === runId || about.runId.startsWith(`${runId}/`)) return about;
  throw new LonghaulError(
    'invalid_input',
    `The decision on call "${about.callId}" was not sent: it waits in run "${about.runId}", not in run "${runId}"`,
  );
}

function runOf(client: Client, runId: string): DecidedRun {
  return { client, runId, reader: new RunReader(client, runId) };
}

/** Returns the approval that waits under the id of a call, in the run or below it. Throws `ambiguous_call` if there are several. */
async function waitingFor({ runId, reader }: DecidedRun, callId: string): Promise<ListedApproval | undefined> {
  // Nothing waits in a run that has ended, and there may be no worker that could answer.
  if ((await reader.chain.newest()).closed) return undefined;
  const { pending } = await reader.approvals();
  const [waiting, ...others] = pending.filter((one) => one.callId === callId);
  if (others.length === 0 || waiting === undefined || waiting.runId === undefined) return waiting;
  const runs = [waiting, ...others].map((one) => `"${one.runId}"`).join(', ');
  throw new LonghaulError(
    'ambiguous_call',
    `Call "${callId}" waits in several runs below "${runId}": pass the listed approval, or decide in one of ${runs}`,
  );
}

async function fromRecord(
  { client, runId, reader }: DecidedRun,
  { type, callId, id }: Pick<Decision, 'type' | 'callId' | 'id'>,
  code: 'unknown_call' | 'run_ended',
): Promise<DecisionReceipt> {
  const found = await recordedDecision(client, runId, reader.chain, { id, callId });
  switch (found.type) {
    case 'decided': {
      const { decision } = found;
      const isSame = decision.id === id && decision.type === type && decision.callId === callId;
      if (!isSame) throw alreadyDecidedError(runId, decision);
      return { version: 1, status: 'repeated', decision: withoutContent(decision) };
    }
    case 'refused': {
      const { code: refusedFor, message } = found.refused;
      throw new LonghaulError(isErrorCode(refusedFor) ? refusedFor : 'not_authorized', message);
    }
    case 'waited':
      if (code === 'unknown_call') break;
      throw new LonghaulError('run_ended', `Run "${runId}" has ended, and call "${callId}" had no decision`);
    case 'unknown':
  }
  if (code === 'run_ended')
    throw new LonghaulError('unknown_call', `No call "${callId}" of run "${runId}" has waited for a decision, and the run has ended`);
  const { pending } = await reader.approvals();
  const waiting = pending.map((one) => `"${one.callId}" (${one.toolName})`);
  const instead = waiting.length === 0 ? 'no call does' : `the waiting calls are ${waiting.join(', ')}`;
  throw new LonghaulError('unknown_call', `No call "${callId}" of run "${runId}" waits for a decision: ${instead}`);
}

function alreadyDecidedError(runId: string, decision: Decision): LonghaulError {
  const { code, message } = alreadyDecided(runId, decision);
  return new LonghaulError(code, message);
}
