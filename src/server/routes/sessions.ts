import { z } from 'zod';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { answeringTurn, type SessionHandle } from '../../client/session-handle.ts';
import { LonghaulError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { isTerminal } from '../../core/domain/run.ts';
import type { MessageReceipt, StatusView } from '../../core/protocol.ts';
import { recordedName, requireStart } from '../auth/caller.ts';
import {
  knownAgent,
  mayTakeId,
  noticeOfUnseen,
  requestId,
  soon,
  startableAgent,
  valueWithin,
  waitMs,
  waitParameter,
  whileWaiting,
  withinWait,
} from '../requests.ts';
import {
  defineRoute,
  ok,
  pageSize,
  READ_PROBLEMS,
  REQUEST_PROBLEMS,
  type Route,
  type RouteRequest,
  sessionParams,
  wholeNumber,
} from '../route.ts';
import {
  beforeTurnReceipt,
  closeReceipt,
  emptyBody,
  interruptBody,
  interruptReceipt,
  noticedReceipt,
  raiseReceipt,
  raiseSessionBody,
  sessionMessageBody,
  turnRunning,
} from '../schemas/requests.ts';
import { statusView, turnResult, turnsPage } from '../schemas/run-views.ts';
import { savedContext } from '../schemas/values.ts';

const MESSAGE_PROBLEMS = [
  ...REQUEST_PROBLEMS,
  'run_exists',
  'session_limit',
  'queue_full',
  'key_reused',
  'payload_too_large',
  'invalid_input',
  'unknown_agent',
  'agent_not_found',
] as const;

const MESSAGE_KEY = 'Becomes the id of the message, unless the body has one: the session accepts it once.';

/** The wait for an answer that names none, in milliseconds. */
const DEFAULT_ASK_MS = 30_000;

type MessageRequest = RouteRequest<z.output<typeof sessionParams>, unknown, z.output<typeof sessionMessageBody>>;

const sendRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/sessions/{sessionId}/messages',
    id: 'sendToSession',
    tag: 'sessions',
    summary: 'Send a message to a session, and do not wait for the answer',
    scope: 'runs:write',
    counts: 'starts',
    params: sessionParams,
    body: sessionMessageBody,
    idempotencyKey: MESSAGE_KEY,
    responses: ok(noticedReceipt, 'The session has accepted the message: the receipt names the turn that answers it.'),
    problems: MESSAGE_PROBLEMS,
  },
  async (request) => {
    const receipt = await sendMessage(request);
    const notice = await noticeOfFirst(request, receipt);
    return { status: 200, body: { ...receipt, ...defined({ notice }) } };
  },
);

const askRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/sessions/{sessionId}/ask',
    id: 'askSession',
    tag: 'sessions',
    summary: 'Send a message to a session, and wait for the answer',
    description: 'A caller that stops waiting, or waits for less time than the turn takes, ends nothing: the turn continues.',
    scope: 'runs:write',
    counts: 'starts',
    params: sessionParams,
    query: z.strictObject({ wait: waitParameter.exactOptional().describe('The longest time to wait. Default, if it is left out, `30s`.') }),
    body: sessionMessageBody,
    idempotencyKey: MESSAGE_KEY,
    responses: {
      200: { description: 'The result of the turn that answers.', schema: turnResult },
      202: { description: 'The turn continues: ask for it by its number.', schema: turnRunning },
    },
    problems: MESSAGE_PROBLEMS,
  },
  // Without a place for the wait, the message is not sent: it would be sent again.
  (request) =>
    whileWaiting(request, async () => {
      const { params, query, client, signal } = request;
      const { sessionId } = params;
      const ms = query.wait === undefined ? DEFAULT_ASK_MS : waitMs(query.wait);
      const receipt = await sendMessage(request);
      const turn = answeringTurn(sessionId, receipt);
      const session = await knownSession(client, sessionId);
      const result = await valueWithin(ms, signal, (options) => session.answer(receipt, options));
      return result === undefined ? { status: 202, body: { sessionId, turn, receipt } } : { status: 200, body: result };
    }),
);

const turnRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}/turns/{turn}',
    id: 'getTurn',
    tag: 'sessions',
    summary: 'Read the result of a turn, or wait for it',
    scope: 'runs:read',
    params: sessionParams.extend({
      turn: z
        .union([z.literal('newest'), wholeNumber(1)], 'must be a number from 1 on, or "newest"')
        .describe('The number of the turn, or `newest`.'),
    }),
    query: z.strictObject({ wait: waitParameter.exactOptional() }),
    responses: {
      200: { description: 'The result of the turn.', schema: turnResult },
      202: { description: 'The turn continues, or has not begun.', schema: turnRunning },
    },
    problems: ['run_not_found', 'run_ended', 'run_terminated', 'invalid_input', 'history_removed'],
  },
  async ({ params, query, client, ...request }) => {
    const { sessionId } = params;
    const view = await sessionStatus(client, sessionId);
    const begun = view.session?.turns ?? 0;
    const number = params.turn === 'newest' ? Math.max(1, begun) : params.turn;
    const session: SessionHandle = client.session(view.agentName, { id: sessionId });
    const isOver = isTerminal(view.status) || number < begun || (number === begun && view.session?.turn !== number);
    // An ended turn is read without a wait, and a turn that can no longer come is refused without one.
    const result = isOver
      ? await session.turn(number)
      : await withinWait(waitMs(query.wait), request, (options) => session.answer({ id: '', turn: number }, options));
    return result === undefined ? { status: 202, body: { sessionId, turn: number, session: view } } : { status: 200, body: result };
  },
);

/** Sends a message. With the name of an agent, starts the session if it does not exist. */
function sendMessage(request: MessageRequest): Promise<MessageReceipt> {
  return soon(() => sendNow(request));
}

async function sendNow(request: MessageRequest): Promise<MessageReceipt> {
  const { params, body, caller, client, settings } = request;
  const { sessionId } = params;
  const { content, agent, ...mode } = body;
  const options = { ...mode, ...requestId(body, request) };
  if (agent !== undefined) requireStart(caller, agent);
  // A message of a caller starts no session under an id that the caller may not take.
  const started = mayTakeId(sessionId, caller) ? agent : undefined;
  if (started === undefined) return client.handle(sessionId).send(content, { ...options, session: defined({ agent }) });
  return sessionToStart(client, startableAgent(settings, caller, started), sessionId).send(content, options);
}

/** Returns what the sender should know if the message has begun a session whose agent no worker has had so far. */
async function noticeOfFirst(
  { params: { sessionId: runId }, body: { agent }, caller, client, settings }: MessageRequest,
  receipt: MessageReceipt,
): Promise<string | undefined> {
  const begins = receipt.status === 'queued' && receipt.turn === 1;
  if (!begins || agent === undefined || typeof knownAgent(settings, agent) !== 'string') return undefined;
  return noticeOfUnseen(client.temporal, caller, { kind: 'agent', name: agent, runId });
}

function sessionToStart(client: LonghaulClient, agent: Parameters<LonghaulClient['session']>[0], id: string): SessionHandle {
  const session: unknown = client.session(agent, { id });
  return session as SessionHandle;
}

const turnsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}/turns',
    id: 'listTurns',
    tag: 'sessions',
    summary: 'List the turns of a session, the oldest first',
    scope: 'runs:read',
    params: sessionParams,
    query: z.strictObject({
      from: wholeNumber(1).exactOptional().describe('The first turn. Default 1.'),
      limit: pageSize.exactOptional().describe('The largest number of turns. Default 50.'),
    }),
    responses: ok(turnsPage, 'The turns, each with the beginnings of its question and its answer.'),
    problems: [...READ_PROBLEMS, 'invalid_input'],
  },
  async ({ params, query, client }) => ({ status: 200, body: await (await knownSession(client, params.sessionId)).turns(query) }),
);

/** The routes that callers use to talk to a session. */
export const TALK_ROUTES: readonly Route[] = [sendRoute, askRoute, turnRoute, turnsRoute];

const sessionChange = {
  method: 'POST',
  tag: 'sessions',
  scope: 'runs:write',
  params: sessionParams,
  problems: [...REQUEST_PROBLEMS, 'invalid_input'],
} as const;

const statusRoute = defineRoute(
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
    problems: [...READ_PROBLEMS, 'invalid_input'],
  },
  async ({ params, client }) => ({ status: 200, body: await sessionStatus(client, params.sessionId) }),
);

const saveRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}/save',
    id: 'saveSession',
    tag: 'sessions',
    summary: 'Read the context of a session as a document: `saved` of another one begins with it',
    scope: 'runs:read',
    params: sessionParams,
    responses: ok(savedContext, 'The saved context.'),
    problems: [...READ_PROBLEMS, 'invalid_input'],
  },
  async ({ params, client }) => ({ status: 200, body: await (await knownSession(client, params.sessionId)).save() }),
);

const interruptRoute = defineRoute(
  {
    ...sessionChange,
    path: '/v1/sessions/{sessionId}/interrupt',
    id: 'interruptTurn',
    summary: 'Interrupt the current turn of a session',
    body: interruptBody,
    responses: ok(interruptReceipt, 'The turn is interrupted, if one was running.'),
  },
  async ({ params, body: { by: _, ...body }, caller, client }) => {
    const session = await knownSession(client, params.sessionId);
    return { status: 200, body: await session.interrupt({ ...body, by: recordedName(caller) }) };
  },
);

const resetRoute = defineRoute(
  {
    ...sessionChange,
    path: '/v1/sessions/{sessionId}/reset',
    id: 'resetSession',
    summary: 'Empty the conversation of a session after the current turn',
    body: emptyBody,
    responses: ok(beforeTurnReceipt, 'The turn that begins with an empty conversation.'),
  },
  async ({ params, client }) => ({ status: 200, body: await (await knownSession(client, params.sessionId)).reset() }),
);

const refreshRoute = defineRoute(
  {
    ...sessionChange,
    path: '/v1/sessions/{sessionId}/refresh',
    id: 'refreshSession',
    summary: 'Have the agent of a session resolved again before the next turn',
    body: emptyBody,
    responses: ok(beforeTurnReceipt, 'The turn before which it is resolved.'),
  },
  async ({ params, client }) => ({ status: 200, body: await (await knownSession(client, params.sessionId)).refresh() }),
);

const closeRoute = defineRoute(
  {
    ...sessionChange,
    path: '/v1/sessions/{sessionId}/close',
    id: 'closeSession',
    summary: 'Close a session after the current turn',
    body: emptyBody,
    responses: ok(closeReceipt, 'The session closes.'),
  },
  async ({ params, caller, client }) => {
    const session = await knownSession(client, params.sessionId);
    return { status: 200, body: await session.close({ by: recordedName(caller) }) };
  },
);

const raiseRoute = defineRoute(
  {
    ...sessionChange,
    path: '/v1/sessions/{sessionId}/limits',
    id: 'raiseSessionLimits',
    summary: 'Raise limits of a whole session',
    body: raiseSessionBody,
    idempotencyKey: 'Becomes the id of the request, unless the body has one: the session accepts it once.',
    responses: ok(raiseReceipt, 'The limits are raised.'),
    problems: [...REQUEST_PROBLEMS, 'invalid_input', 'key_reused'],
  },
  async (request) => {
    const { params, body, caller, client } = request;
    const session = await knownSession(client, params.sessionId);
    return { status: 200, body: await session.raise(body.limits, { by: recordedName(caller), ...requestId(body, request) }) };
  },
);

/** The routes that read a session, or send it a request. */
export const CHANGE_SESSION_ROUTES: readonly Route[] = [
  statusRoute,
  saveRoute,
  interruptRoute,
  resetRoute,
  refreshRoute,
  closeRoute,
  raiseRoute,
];

/** Returns the handle of an existing session from only its id. Throws `run_not_found`. */
async function knownSession(client: LonghaulClient, id: string): Promise<SessionHandle> {
  // The handle could start a session, and needs the name of an agent for that.
  const { agentName } = await sessionStatus(client, id);
  return client.session(agentName, { id });
}

/** Returns the status of a session. Throws `invalid_input` for a run that is not a session, and `run_not_found`. */
async function sessionStatus(client: LonghaulClient, id: string): Promise<StatusView> {
  const status = await client.handle(id).status();
  // Until the agent is resolved, the status does not say what the run is.
  if (status.session !== undefined || status.events === 0) return status;
  throw new LonghaulError('invalid_input', `Run "${id}" is not a session: use the routes of runs, "/v1/runs/${id}" and so on`);
}
