import { requestId } from '../../requests/idempotency-key.ts';
import { recordedName } from '../../auth/caller.ts';
import { defineRoute, type Route } from '../../routing/route.ts';
import { savedContext } from '../../schemas/content.ts';
import { emptyBody, raiseReceipt } from '../../schemas/run-requests.ts';
import { statusView } from '../../schemas/run-views.ts';
import { beforeTurnReceipt, closeReceipt, interruptBody, interruptReceipt, raiseSessionBody } from '../../schemas/session-requests.ts';
import { ok, READ_PROBLEMS, REQUEST_PROBLEMS, sessionParams } from '../route-parts.ts';
import { knownSession } from './known-session.ts';

const common = { method: 'POST', tag: 'sessions', scope: 'runs:write', params: sessionParams, problems: REQUEST_PROBLEMS } as const;

const status = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}',
    id: 'getSession',
    tag: 'sessions',
    summary: 'Read the status of a session',
    description: 'A session is a run: its events, approvals and so on are at `/v1/runs` under the same id.',
    scope: 'runs:read',
    params: sessionParams,
    responses: ok(statusView, 'The status, with the turns and the limits in `session`.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.sessionId).status() }),
);

const save = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}/save',
    id: 'saveSession',
    tag: 'sessions',
    summary: 'Read the context of a session as a document: `saved` of another one begins with it',
    scope: 'runs:read',
    params: sessionParams,
    responses: ok(savedContext, 'The saved context.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.sessionId).save() }),
);

const interrupt = defineRoute(
  {
    ...common,
    path: '/v1/sessions/{sessionId}/interrupt',
    id: 'interruptTurn',
    summary: 'Interrupt the current turn of a session',
    body: interruptBody,
    bodyIsOptional: true,
    responses: ok(interruptReceipt, 'The turn is interrupted, if one was running.'),
  },
  async ({ params, body: { by: _, ...body }, caller, client }) => {
    const session = await knownSession(client, params.sessionId);
    return { status: 200, body: await session.interrupt({ ...body, by: recordedName(caller) }) };
  },
);

const reset = defineRoute(
  {
    ...common,
    path: '/v1/sessions/{sessionId}/reset',
    id: 'resetSession',
    summary: 'Empty the conversation of a session after the current turn',
    body: emptyBody,
    bodyIsOptional: true,
    responses: ok(beforeTurnReceipt, 'The turn that begins with an empty conversation.'),
  },
  async ({ params, client }) => ({ status: 200, body: await (await knownSession(client, params.sessionId)).reset() }),
);

const refresh = defineRoute(
  {
    ...common,
    path: '/v1/sessions/{sessionId}/refresh',
    id: 'refreshSession',
    summary: 'Have the agent of a session resolved again before the next turn',
    body: emptyBody,
    bodyIsOptional: true,
    responses: ok(beforeTurnReceipt, 'The turn before which it is resolved.'),
  },
  async ({ params, client }) => ({ status: 200, body: await (await knownSession(client, params.sessionId)).refresh() }),
);

const close = defineRoute(
  {
    ...common,
    path: '/v1/sessions/{sessionId}/close',
    id: 'closeSession',
    summary: 'Close a session after the current turn',
    body: emptyBody,
    bodyIsOptional: true,
    responses: ok(closeReceipt, 'The session closes.'),
  },
  async ({ params, caller, client }) => {
    const session = await knownSession(client, params.sessionId);
    return { status: 200, body: await session.close({ by: recordedName(caller) }) };
  },
);

const raise = defineRoute(
  {
    ...common,
    path: '/v1/sessions/{sessionId}/limits',
    id: 'raiseSessionLimits',
    summary: 'Raise limits of a whole session',
    body: raiseSessionBody,
    idempotencyKey: 'Becomes the id of the request, unless the body has one: the session accepts it once.',
    responses: ok(raiseReceipt, 'The limits are raised.'),
    problems: [...REQUEST_PROBLEMS, 'invalid_input'],
  },
  async ({ params, body: { limits, id }, caller, client, idempotencyKey }) => {
    const session = await knownSession(client, params.sessionId);
    return { status: 200, body: await session.raise(limits, { by: recordedName(caller), ...requestId(id, idempotencyKey) }) };
  },
);

/** The routes that read a session, or send it a request. */
export const CHANGE_SESSION_ROUTES: readonly Route[] = [status, save, interrupt, reset, refresh, close, raise];
