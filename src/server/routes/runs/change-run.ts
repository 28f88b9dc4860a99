import { z } from 'zod';
import type { MessageReceipt } from '../../../core/protocol.ts';
import type { Duration } from '../../../core/domain/time.ts';
import { recordedName } from '../../auth/caller.ts';
import { requestId } from '../../requests/idempotency-key.ts';
import { soon } from '../../requests/start-patience.ts';
import { requireRaise } from '../../auth/access/raise.ts';
import { requireAgentOf } from '../../auth/access/reach.ts';
import { defineRoute, type Route } from '../../routing/route.ts';
import {
  cancelBody,
  cancelReceipt,
  deleteReceipt,
  emptyBody,
  messageBody,
  messageReceipt,
  pauseReceipt,
  permissionsBody,
  permissionsReceipt,
  raiseBody,
  raiseReceipt,
  retryBody,
  retryReceipt,
} from '../../schemas/run-requests.ts';
import { flag, ok, REQUEST_PROBLEMS, runParams } from '../route-parts.ts';

const common = { method: 'POST', tag: 'runs', scope: 'runs:write', params: runParams } as const;

const ID_KEY = 'Becomes the id of the request, unless the body has one: the run accepts it once.';

const sendMessage = defineRoute(
  {
    ...common,
    path: '/v1/runs/{runId}/messages',
    id: 'sendMessage',
    counts: 'starts',
    summary: 'Send a message to a run',
    body: messageBody,
    idempotencyKey: 'Becomes the id of the message, unless the body has one: the run accepts it once.',
    responses: ok(messageReceipt, 'The run has accepted the message.'),
    problems: [...REQUEST_PROBLEMS, 'queue_full', 'payload_too_large', 'invalid_input', 'session_limit'],
  },
  async ({ params, body: { content, id, ...options }, caller, client, idempotencyKey }) => {
    const run = client.handle(params.runId);
    const send = async (): Promise<MessageReceipt> => {
      await requireAgentOf(caller, () => run.status());
      return run.send(content, { ...options, ...requestId(id, idempotencyKey) });
    };
    return { status: 200, body: await soon(send) };
  },
);

const pause = defineRoute(
  {
    ...common,
    path: '/v1/runs/{runId}/pause',
    id: 'pauseRun',
    summary: 'Pause a run after its current step',
    body: emptyBody,
    bodyIsOptional: true,
    responses: ok(pauseReceipt, 'The run pauses.'),
    problems: REQUEST_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).pause() }),
);

const resume = defineRoute(
  {
    ...common,
    path: '/v1/runs/{runId}/resume',
    id: 'resumeRun',
    summary: 'Resume a paused run',
    body: emptyBody,
    bodyIsOptional: true,
    responses: ok(pauseReceipt, 'The run goes on.'),
    problems: REQUEST_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).resume() }),
);

const cancel = defineRoute(
  {
    ...common,
    path: '/v1/runs/{runId}/cancel',
    id: 'cancelRun',
    summary: 'Cancel a run',
    body: cancelBody,
    bodyIsOptional: true,
    responses: ok(cancelReceipt, 'The run has been asked to end, or had ended.'),
    problems: ['run_not_found', 'not_a_run'],
  },
  async ({ params: { runId }, body: { reason = 'cancelled over HTTP' }, caller, client }) => ({
    status: 200,
    body: { runId, outcome: await client.handle(runId).cancel(reason, { by: recordedName(caller) }) },
  }),
);

const raise = defineRoute(
  {
    ...common,
    path: '/v1/runs/{runId}/limits',
    id: 'raiseLimits',
    summary: 'Raise limits of a run',
    description: 'A run that asks a person at its limits (`onLimit: "ask"`) needs the scope `approvals:decide` as well.',
    body: raiseBody,
    idempotencyKey: ID_KEY,
    responses: ok(raiseReceipt, 'The limits that hold now.'),
    problems: [...REQUEST_PROBLEMS, 'invalid_input', 'budget_exceeded'],
  },
  async ({ params, body: { limits, id }, caller, client, idempotencyKey }) => {
    const run = client.handle(params.runId);
    await requireRaise(caller, { runId: run.runId, status: () => run.status() });
    return { status: 200, body: await run.raise(limits, { by: recordedName(caller), ...requestId(id, idempotencyKey) }) };
  },
);

const setPermissions = defineRoute(
  {
    ...common,
    method: 'PUT',
    path: '/v1/runs/{runId}/permissions',
    id: 'setPermissions',
    summary: 'Set the permissions of a run',
    // Who sets them decides which calls wait for a decision at all.
    scope: 'approvals:decide',
    body: permissionsBody,
    idempotencyKey: ID_KEY,
    responses: ok(permissionsReceipt, 'The permissions are set, or wait for the worker to authorize them.'),
    problems: [...REQUEST_PROBLEMS, 'invalid_input', 'not_authorized', 'not_permitted'],
  },
  async ({ params, body: { permissions, id }, caller, client, idempotencyKey }) => ({
    status: 200,
    body: await client.handle(params.runId).setPermissions(permissions, { by: recordedName(caller), ...requestId(id, idempotencyKey) }),
  }),
);

const retry = defineRoute(
  {
    ...common,
    path: '/v1/runs/{runId}/retry',
    id: 'retryRun',
    counts: 'starts',
    summary: 'Let a run that has ended go on from a step',
    body: retryBody,
    bodyIsOptional: true,
    responses: ok(retryReceipt, 'The run goes on.'),
    problems: ['run_not_found', 'run_open', 'invalid_input', 'history_removed'],
  },
  async ({ params, body, caller, client }) => {
    const run = client.handle(params.runId);
    await soon(() => requireAgentOf(caller, () => run.status()));
    return { status: 200, body: await soon(() => run.retry(body)) };
  },
);

const remove = defineRoute(
  {
    method: 'DELETE',
    path: '/v1/runs/{runId}',
    id: 'deleteRun',
    tag: 'runs',
    summary: 'Delete a run that has ended, and all runs below it',
    scope: 'admin',
    params: runParams,
    query: z.strictObject({
      end: flag.exactOptional().describe('True: runs that go on are cancelled first.'),
      grace: z
        .string()
        .regex(/^\d+(?:\.\d+)?(?:ms|s|m)$/)
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
export const CHANGE_RUN_ROUTES: readonly Route[] = [sendMessage, pause, resume, cancel, raise, setPermissions, retry, remove];
