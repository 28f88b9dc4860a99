import { expecting } from '../../schemas/expecting.ts';
import { z } from 'zod';
import { sendDecision } from '../../../client/run-handle.ts';
import { defined } from '../../../core/domain/json.ts';
import type { Duration } from '../../../core/domain/time.ts';
import { recordedName, requireDecision, requireRaise } from '../../auth/caller.ts';
import { requestId, soon } from '../../requests.ts';
import { defineRoute, flag, ok, READ_PROBLEMS, type Reply, REQUEST_PROBLEMS, type Route, runParams } from '../../route.ts';
import {
  cancelBody,
  cancelReceipt,
  deleteReceipt,
  emptyBody,
  messageBody,
  messageReceipt,
  pauseReceipt,
  raiseBody,
  raiseReceipt,
  retryBody,
  retryReceipt,
} from '../../schemas/requests.ts';
import { decisionBody, decisionReceipt, revokeReceipt, runApprovals } from '../../schemas/run-views.ts';
import { setPermissionsRoute } from './set-permissions.ts';

const runChange = { method: 'POST', tag: 'runs', scope: 'runs:write', params: runParams } as const;

const ID_KEY = 'Becomes the id of the request, unless the body has one: the run accepts it once.';

const sendMessageRoute = defineRoute(
  {
    ...runChange,
    path: '/v1/runs/{runId}/messages',
    id: 'sendMessage',
    counts: 'starts',
    summary: 'Send a message to a run',
    body: messageBody,
    idempotencyKey: 'Becomes the id of the message, unless the body has one: the run accepts it once.',
    responses: ok(messageReceipt, 'The run has accepted the message.'),
    problems: [...REQUEST_PROBLEMS, 'queue_full', 'payload_too_large', 'invalid_input', 'session_limit', 'key_reused'],
  },
  async (request) => {
    const { params, body, client } = request;
    const { content, ...options } = body;
    const run = client.handle(params.runId);
    return { status: 200, body: await soon(() => run.send(content, { ...options, ...requestId(body, request) })) };
  },
);

const pauseRoute = defineRoute(
  {
    ...runChange,
    path: '/v1/runs/{runId}/pause',
    id: 'pauseRun',
    summary: 'Pause a run after its current step',
    body: emptyBody,
    responses: ok(pauseReceipt, 'The run pauses.'),
    problems: REQUEST_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).pause() }),
);

const resumeRoute = defineRoute(
  {
    ...runChange,
    path: '/v1/runs/{runId}/resume',
    id: 'resumeRun',
    summary: 'Resume a paused run',
    body: emptyBody,
    responses: ok(pauseReceipt, 'The run continues.'),
    problems: REQUEST_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).resume() }),
);

const cancelRoute = defineRoute(
  {
    ...runChange,
    path: '/v1/runs/{runId}/cancel',
    id: 'cancelRun',
    summary: 'Cancel a run',
    body: cancelBody,
    responses: ok(cancelReceipt, 'The run has been asked to end, or had ended.'),
    problems: ['run_not_found', 'not_a_run'],
  },
  async ({ params: { runId }, body: { reason = 'cancelled over HTTP' }, caller, client }) => ({
    status: 200,
    body: { runId, outcome: await client.handle(runId).cancel(reason, { by: recordedName(caller) }) },
  }),
);

const raiseRoute = defineRoute(
  {
    ...runChange,
    path: '/v1/runs/{runId}/limits',
    id: 'raiseLimits',
    summary: 'Raise limits of a run',
    description: 'A run that asks a person at its limits (`onLimit: "ask"`) needs the scope `approvals:decide` as well.',
    body: raiseBody,
    idempotencyKey: ID_KEY,
    responses: ok(raiseReceipt, 'The limits that hold now.'),
    problems: [...REQUEST_PROBLEMS, 'invalid_input', 'budget_exceeded', 'key_reused'],
  },
  async (request) => {
    const { params, body, caller, client } = request;
    const run = client.handle(params.runId);
    await requireRaise(caller, { runId: run.runId, status: () => run.status() });
    return { status: 200, body: await run.raise(body.limits, { by: recordedName(caller), ...requestId(body, request) }) };
  },
);

const retryRoute = defineRoute(
  {
    ...runChange,
    path: '/v1/runs/{runId}/retry',
    id: 'retryRun',
    counts: 'starts',
    summary: 'Let a run that has ended continue from a step',
    body: retryBody,
    responses: ok(retryReceipt, 'The run continues.'),
    problems: ['run_not_found', 'run_open', 'invalid_input', 'history_removed'],
  },
  async ({ params, body, client }) => ({ status: 200, body: await soon(() => client.handle(params.runId).retry(body)) }),
);

const deleteRoute = defineRoute(
  {
    method: 'DELETE',
    path: '/v1/runs/{runId}',
    id: 'deleteRun',
    tag: 'runs',
    summary: 'Delete a run that has ended, and all runs below it',
    scope: 'admin',
    params: runParams,
    query: z.strictObject({
      end: flag.exactOptional().describe('True: open runs are cancelled first.'),
      grace: z
        .string()
        .regex(/^\d+(?:\.\d+)?(?:ms|s|m)$/, expecting('a time such as "500ms", "30s" or "1m"'))
        .transform((text) => text as Duration)
        .exactOptional()
        .describe('The time that they have to end by themselves. Default `30s`.'),
    }),
    responses: ok(deleteReceipt, 'The server removes its part within a minute or so.'),
    problems: ['run_not_found', 'not_a_run', 'run_open', 'archive_failed', 'payload_store_failed', 'streams_failed'],
  },
  async ({ params: { runId }, query, client }) => ({
    status: 200,
    body: { runId, outcome: await client.handle(runId).delete(query) },
  }),
);

/** The routes that send a run a request, or remove it. */
export const CHANGE_RUN_ROUTES: readonly Route[] = [
  sendMessageRoute,
  pauseRoute,
  resumeRoute,
  cancelRoute,
  raiseRoute,
  setPermissionsRoute,
  retryRoute,
  deleteRoute,
];

const listApprovalsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/approvals',
    id: 'getApprovals',
    tag: 'approvals',
    summary: 'List the calls of a run, and of those below it, that wait for a decision',
    scope: 'runs:read',
    isShared: true,
    params: runParams,
    responses: ok(runApprovals, 'The pending approvals, and the decisions that hold for further calls.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).approvals() }),
);

const decideRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/runs/{runId}/approvals/{callId}',
    id: 'decide',
    tag: 'approvals',
    summary: 'Approve or reject a waiting call, or answer it',
    description:
      'The decision holds for exactly the call and the arguments of the digest. The service names the caller as the one who decides.',
    scope: 'approvals:decide',
    params: runParams.extend({
      callId: z.string().min(1).describe('The id of the call, percent-encoded: ids in programs may have "#", which begins a fragment.'),
    }),
    body: decisionBody,
    idempotencyKey: 'Becomes the id of the decision, unless the body has one: sent again, it is answered with its first outcome.',
    responses: ok(decisionReceipt, 'The decision was taken, now or before.'),
    problems: [
      ...REQUEST_PROBLEMS,
      'unknown_call',
      'ambiguous_call',
      'already_decided',
      'key_reused',
      'digest_mismatch',
      'invalid_arguments',
      'invalid_input',
      'not_authorized',
      'budget_exceeded',
    ],
  },
  async (request): Promise<Reply> => {
    const { params, body, caller, client } = request;
    const { runId, callId } = params;
    const about = { callId, digest: body.digest, ...defined({ runId: body.runId }) };
    const options = { by: recordedName(caller), ...requestId(body, request) };
    const run = client.handle(runId);
    await requireDecision(caller, run, about);
    return { status: 200, body: await sendDecision(run, about, body, options) };
  },
);

const revokeRoute = defineRoute(
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
export const RUN_APPROVAL_ROUTES: readonly Route[] = [listApprovalsRoute, decideRoute, revokeRoute];
