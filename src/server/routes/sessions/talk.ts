import { z } from 'zod';
import { answeringTurn } from '../../../client/session-options.ts';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';
import { errorCode } from '../../../core/domain/errors.ts';
import { isTerminal } from '../../../core/domain/run.ts';
import type { MessageReceipt } from '../../../core/protocol.ts';
import { mayTakeId } from '../../requests/derived-id.ts';
import { whileWaiting } from '../../limits/while-waiting.ts';
import { valueWithin, waitMs, waitParameter, withinWait } from '../../requests/bounded-wait.ts';
import { requestId } from '../../requests/idempotency-key.ts';
import { soon } from '../../requests/start-patience.ts';
import { requireAgentOf, requireStart } from '../../auth/access/reach.ts';
import { defineRoute, type Route, type RouteRequest } from '../../routing/route.ts';
import { noticedReceipt } from '../../schemas/run-requests.ts';
import { turnResult } from '../../schemas/run-views.ts';
import { sessionMessageBody, turnRunning } from '../../schemas/session-requests.ts';
import { ok, REQUEST_PROBLEMS, sessionParams, wholeNumber } from '../route-parts.ts';
import { knownSession } from './known-session.ts';
import { knownAgent, noticeOfUnseen, startableAgent } from '../../starting/known-agent.ts';

const MESSAGE_PROBLEMS = [
  ...REQUEST_PROBLEMS,
  'session_limit',
  'queue_full',
  'payload_too_large',
  'invalid_input',
  'unknown_agent',
  'agent_not_found',
] as const;

const MESSAGE_KEY = 'Becomes the id of the message, unless the body has one: the session accepts it once.';

/** The wait for an answer that names none, in milliseconds. */
const DEFAULT_ASK_MS = 30_000;

type MessageRequest = RouteRequest<z.output<typeof sessionParams>, unknown, z.output<typeof sessionMessageBody>>;

const send = defineRoute(
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
    return { status: 200, body: { ...receipt, ...(notice === undefined ? {} : { notice }) } };
  },
);

const ask = defineRoute(
  {
    method: 'POST',
    path: '/v1/sessions/{sessionId}/ask',
    id: 'askSession',
    tag: 'sessions',
    summary: 'Send a message to a session, and wait for the answer',
    description: 'A caller that stops waiting, or waits for less time than the turn takes, ends nothing: the turn goes on.',
    scope: 'runs:write',
    counts: 'starts',
    params: sessionParams,
    query: z.strictObject({ wait: waitParameter.exactOptional().describe('The longest time to wait. Default, if it is left out, `30s`.') }),
    body: sessionMessageBody,
    idempotencyKey: MESSAGE_KEY,
    responses: {
      200: { description: 'The result of the turn that answers.', schema: turnResult },
      202: { description: 'The turn goes on: ask for it by its number.', schema: turnRunning },
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

const turn = defineRoute(
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
      202: { description: 'The turn goes on, or has not begun.', schema: turnRunning },
    },
    problems: ['run_not_found', 'run_ended', 'run_terminated', 'invalid_input', 'history_removed'],
  },
  async ({ params, query, client, ...request }) => {
    const { sessionId } = params;
    const view = await client.handle(sessionId).status();
    const begun = view.session?.turns ?? 0;
    const number = params.turn === 'newest' ? Math.max(1, begun) : params.turn;
    const session: SessionHandle = client.session(view.agentName, { id: sessionId });
    const isOver = isTerminal(view.status) || number < begun || (number === begun && view.session?.turn !== number);
    // A turn that has ended is read without a wait, and one that cannot come any more is refused without one.
    const result = isOver
      ? await session.turn(number)
      : await withinWait(waitMs(query.wait), request, (options) => session.answer({ id: '', turn: number }, options));
    return result === undefined ? { status: 202, body: { sessionId, turn: number, session: view } } : { status: 200, body: result };
  },
);

/** Sends a message. With the name of an agent it starts the session, if there is none. */
function sendMessage(request: MessageRequest): Promise<MessageReceipt> {
  return soon(() => sendNow(request));
}

async function sendNow({ params: { sessionId }, body, caller, client, idempotencyKey, settings }: MessageRequest): Promise<MessageReceipt> {
  const { content, id, agent, ...mode } = body;
  const options = { ...mode, ...requestId(id, idempotencyKey) };
  const run = client.handle(sessionId);
  if (agent !== undefined) requireStart(caller, agent);
  // A message of a caller starts no session under an id that the caller may not take.
  const started = mayTakeId(sessionId, caller) ? agent : undefined;
  await requireAgentOf(caller, () => statusOr(run, started));
  if (started === undefined) return run.send(content, options);
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

/** Returns the status of a session; that of the one which the agent would start, if there is none. */
async function statusOr(run: RunHandle, agentName: string | undefined): Promise<{ agentName: string }> {
  try {
    return await run.status();
  } catch (error) {
    if (agentName === undefined || errorCode(error) !== 'run_not_found') throw error;
    return { agentName };
  }
}

function sessionToStart(client: LonghaulClient, agent: Parameters<LonghaulClient['session']>[0], id: string): SessionHandle {
  const session: unknown = client.session(agent, { id });
  return session as SessionHandle;
}

/** The routes by which a caller talks to a session. */
export const TALK_ROUTES: readonly Route[] = [send, ask, turn];
