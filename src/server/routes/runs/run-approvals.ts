import { z } from 'zod';
import { requestId } from '../../requests/idempotency-key.ts';
import { recordedName } from '../../auth/caller.ts';
import { defineRoute, type Reply, type Route } from '../../routing/route.ts';
import { decisionBody, revokeReceipt, runApprovals } from '../../schemas/approvals.ts';
import { decisionReceipt } from '../../schemas/run-record.ts';
import { ok, READ_PROBLEMS, REQUEST_PROBLEMS, runParams } from '../route-parts.ts';

const list = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/approvals',
    id: 'getApprovals',
    tag: 'approvals',
    summary: 'List the calls of a run, and of those below it, that wait for a decision',
    scope: 'runs:read',
    params: runParams,
    responses: ok(runApprovals, 'The pending approvals, and the decisions that hold for further calls.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).approvals() }),
);

const decide = defineRoute(
  {
    method: 'POST',
    path: '/v1/runs/{runId}/approvals/{callId}',
    id: 'decide',
    tag: 'approvals',
    summary: 'Approve or reject a waiting call, or answer it',
    description:
      'The decision holds for exactly the call and the arguments of the digest. The service names the caller as the one who decides.',
    scope: 'approvals:decide',
    params: runParams.extend({ callId: z.string().min(1).describe('The id of the call.') }),
    body: decisionBody,
    idempotencyKey: 'Becomes the id of the decision, unless the body has one: sent again, it is answered with its first outcome.',
    responses: ok(decisionReceipt, 'The decision was taken, now or before.'),
    problems: [
      ...REQUEST_PROBLEMS,
      'unknown_call',
      'ambiguous_call',
      'already_decided',
      'digest_mismatch',
      'invalid_arguments',
      'invalid_input',
      'not_authorized',
      'budget_exceeded',
    ],
  },
  async ({ params: { runId, callId }, body, caller, client, idempotencyKey }): Promise<Reply> => {
    const { digest, runId: waiting } = body;
    const handle = client.handle(runId);
    const about = { callId, digest, ...(waiting === undefined ? {} : { runId: waiting }) };
    const options = { by: recordedName(caller), ...requestId(body.id, idempotencyKey) };
    const remembered = 'remember' in body ? { remember: body.remember } : {};
    switch (body.type) {
      case 'approve': {
        const edited = body.arguments === undefined ? {} : { arguments: body.arguments };
        return { status: 200, body: await handle.approve(about, { ...options, ...edited, ...remembered }) };
      }
      case 'reject': {
        const reason = body.reason === undefined ? {} : { reason: body.reason };
        return { status: 200, body: await handle.reject(about, { ...options, ...reason, ...remembered }) };
      }
      case 'respond':
        return { status: 200, body: await handle.respond(about, body.content, options) };
    }
  },
);

const revoke = defineRoute(
  {
    method: 'DELETE',
    path: '/v1/runs/{runId}/remembered/{decisionId}',
    id: 'revokeDecision',
    tag: 'approvals',
    summary: 'End a remembered decision',
    scope: 'approvals:decide',
    params: runParams.extend({ decisionId: z.string().min(1).describe('The id of the decision.') }),
    responses: ok(revokeReceipt, 'It holds for no further calls.'),
    problems: REQUEST_PROBLEMS,
  },
  async ({ params: { runId, decisionId }, client }) => ({ status: 200, body: await client.handle(runId).revoke(decisionId) }),
);

/** The routes about the calls of a run that wait for a decision. */
export const RUN_APPROVAL_ROUTES: readonly Route[] = [list, decide, revoke];
