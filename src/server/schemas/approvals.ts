import { z } from 'zod';
import { component } from './component.ts';
import { ignoredBy, jsonObject, jsonValue, nameText, runIdText, requestIdText, timestamp, version } from './json.ts';
import { nextCursor, runStatus, runSubject } from './run-views.ts';

/** A pending approval. */
const approval = component(
  'Approval',
  z.object({
    kind: z.enum(['tool', 'question', 'limit', 'outcome']),
    runId: z.string().exactOptional().describe('The run that waits.'),
    about: runSubject.exactOptional(),
    callId: z.string(),
    toolName: z.string(),
    digest: z.string().describe('A decision is bound to it.'),
    key: z.string(),
    step: z.number(),
    at: z.string().exactOptional(),
    requestedAt: timestamp,
    deadlineAt: timestamp.exactOptional(),
    onDeadline: z.enum(['approve', 'reject']).exactOptional(),
    reason: z.string().exactOptional(),
    proposal: jsonObject.exactOptional(),
    notified: z.boolean().exactOptional(),
    arguments: jsonObject,
    argumentsCut: z.literal(true).exactOptional(),
    answer: jsonObject.exactOptional(),
  }),
);

const remembered = component(
  'RememberedDecision',
  z.object({
    id: z.string(),
    type: z.enum(['approve', 'reject']),
    toolName: z.string(),
    agent: z.string().exactOptional(),
    digest: z.string().exactOptional(),
    reason: z.string().exactOptional(),
    by: z.string().nullable(),
    verifiedBy: z.string().exactOptional(),
    at: timestamp,
  }),
);

/** The approvals of a run and of those below it. */
export const runApprovals = component(
  'RunApprovals',
  z.object({
    version,
    runId: z.string(),
    agentName: z.string(),
    about: runSubject,
    status: runStatus,
    pending: z.array(approval),
    remembered: z.array(remembered),
  }),
);

/** A page of the approvals of all runs. */
export const approvalsPage = component('ApprovalsPage', z.object({ approvals: z.array(approval), next: nextCursor }));

const about = {
  digest: nameText.describe('The digest of the approval as it was listed: another call is not decided.'),
  runId: runIdText.exactOptional().describe('The run that waits, as it was listed. Default: this run, or one below it.'),
  id: requestIdText.exactOptional(),
  by: ignoredBy.exactOptional(),
};

const remember = z.enum(['tool', 'arguments']).exactOptional().describe('The decision holds for further calls, too.');

/** The body of a decision. */
export const decisionBody = component(
  'DecideCall',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('approve'), arguments: jsonObject.exactOptional(), remember, ...about }),
    z.strictObject({ type: z.literal('reject'), reason: z.string().exactOptional(), remember, ...about }),
    z.strictObject({ type: z.literal('respond'), content: jsonValue, ...about }),
  ]),
);

/** The answer to the end of a remembered decision. */
export const revokeReceipt = component('RevokeReceipt', z.object({ version, revoked: z.boolean() }));
