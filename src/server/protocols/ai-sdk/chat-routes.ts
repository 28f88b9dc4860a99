import { z } from 'zod';
import { errorCode, LonghaulError } from '../../../core/domain/errors/error.ts';
import { isTerminal } from '../../../core/domain/run/status.ts';
import type { StatusView } from '../../../core/protocol.ts';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { SessionHandle } from '../../../client/sessions/session-handle.ts';
import { type Caller, recordedName } from '../../auth/caller.ts';
import { requireStart } from '../../auth/access/reach.ts';
import { hasScope } from '../../auth/access/scopes.ts';
import { defineRoute, type Route } from '../../routing/route.ts';
import { ok, REQUEST_PROBLEMS, wholeNumber } from '../../routes/route-parts.ts';
import { soon } from '../../requests/start-patience.ts';
import { emptyBody } from '../../schemas/run-requests.ts';
import { openStream } from '../../sse/open-stream.ts';
import type { ServerSettings } from '../../server-settings.ts';
import { endUnknown, knownAgent, startableAgent } from '../../starting/known-agent.ts';
import { acceptedTurn } from './accepted-turn.ts';
import { chatResponse } from './chat-response.ts';
import { sessionIdOf } from './chat-session-id.ts';
import { chatChunk, chatMessages, interruptReceipt } from './chat-schemas.ts';
import { earlierMessages } from './earlier-messages.ts';
import { chatBody, chatIdText, readPostedChat } from './posted-chat.ts';
import type { FollowedTurn } from './followed-turn.ts';
import { recordedAnswer } from './shown-answers.ts';
import { placeOfTurn } from './turn-place.ts';

const agent = z.string().min(1).describe('The name of the agent.');
const chatParams = z.object({ agent, id: chatIdText.describe('The id of the chat.') });

/** The number of turns whose messages a page has. */
const DEFAULT_TURNS = 20;

const ANSWER = {
  description: 'The answer as a UI message stream of the AI SDK, version 1, in server-sent events.',
  schema: chatChunk,
  contentType: 'text/event-stream',
  lastData: '[DONE]',
  headers: { 'x-vercel-ai-ui-message-stream': 'The version of the protocol: `v1`.' },
};

const post = defineRoute(
  {
    method: 'POST',
    path: '/v1/agents/{agent}/chat',
    id: 'postChat',
    tag: 'sessions',
    summary: 'Send a message to a chat of the AI SDK, or answers to its approvals, and follow the answer',
    description:
      'A chat is a session, which the first message starts. A message is accepted once for its id: sent again, it is answered with the ' +
      'recorded answer. Answers to approvals need the scope `approvals:decide`. A client that goes ends nothing.',
    scope: 'runs:write',
    counts: 'starts',
    params: z.object({ agent }),
    body: chatBody,
    responses: { 200: ANSWER },
    problems: [
      ...REQUEST_PROBLEMS,
      'run_exists',
      'unknown_agent',
      'agent_not_found',
      'queue_full',
      'payload_too_large',
      'invalid_input',
      'session_limit',
      'digest_mismatch',
      'invalid_arguments',
      'not_authorized',
      'budget_exceeded',
      'history_removed',
    ],
  },
  async ({ params, body, caller, client, settings, signal, raw }) => {
    requireStart(caller, params.agent);
    const known = startableAgent(settings, caller, params.agent);
    const posted = readPostedChat(body);
    const session = chatSession({ agent: params.agent, id: body.id, caller, client, settings });
    const before = await soon(() => statusIfKnown(session));
    if (before !== undefined && before.agentName !== params.agent) {
      throw new LonghaulError('run_exists', `Chat "${body.id}" is one with agent "${before.agentName}": use its route, or another id`);
    }
    // Without a place for the answer nothing is accepted: it would be sent again.
    const open = openStream({ caller, raw, signal, settings }, 'runs:write');
    try {
      const to = { session, client, caller, signal, recorded: before?.events ?? 0 };
      const turn = await soon(() => acceptedTurn(to, posted));
      if (before === undefined && typeof known === 'string') await requireWorkerWith(known, { session, client, caller });
      return chatResponse({ ...turn, ...ofOthers(client, caller) }, open, { settings, raw });
    } catch (error) {
      open.closed();
      throw error;
    }
  },
);

const stream = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents/{agent}/chat/{id}/stream',
    id: 'resumeChat',
    tag: 'sessions',
    summary: 'Follow the answer that a chat of the AI SDK is giving, from its beginning',
    description: 'For a page that was loaded again, or was offline.',
    scope: 'runs:read',
    params: chatParams,
    responses: { 200: ANSWER, 204: { description: 'The chat gives no answer at the moment, or there is none of that id.' } },
    problems: ['history_removed'],
  },
  async ({ params, caller, client, settings, signal, raw }) => {
    const session = chatSession({ ...params, caller, client, settings });
    const status = await statusOfChat(session, params.agent);
    const turn = status && runningTurn(status);
    if (status === undefined || turn === undefined) return { status: 204 };
    const place = await placeOfTurn(session.run, turn, status.events);
    const followed = { run: session.run, turn, place, ...ofOthers(client, caller) };
    return chatResponse(followed, openStream({ caller, raw, signal, settings }), { settings, raw });
  },
);

const messages = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents/{agent}/chat/{id}',
    id: 'getChatMessages',
    tag: 'sessions',
    summary: 'Read the messages of a chat of the AI SDK',
    description:
      'For a page that opens a chat that it does not have: the newest turns, with the oldest of them first. Of a turn that goes on it has ' +
      'the messages of the user alone: its stream has the answer from its beginning. A chat that does not exist has no messages.',
    scope: 'runs:read',
    params: chatParams,
    query: z.strictObject({
      before: wholeNumber(1).exactOptional().describe('The `before` of the page before. Default: the newest turns.'),
      limit: wholeNumber(1, 100).exactOptional().describe(`The largest number of turns. Default ${DEFAULT_TURNS}.`),
    }),
    responses: ok(chatMessages, 'The messages, in the form of the AI SDK.'),
    problems: ['history_removed'],
  },
  async ({ params, query: { before = Infinity, limit = DEFAULT_TURNS }, caller, client, settings }) => {
    const session = chatSession({ ...params, caller, client, settings });
    const status = await statusOfChat(session, params.agent);
    const last = status === undefined ? 0 : Math.min(before - 1, runningTurn(status) ?? status.session?.turns ?? 0);
    if (status === undefined || last < 1) return { status: 200, body: { messages: [] } };
    const range = { first: Math.max(1, last - limit + 1), last, known: status.events };
    const { messages: read, first } = await earlierMessages(session.run, range);
    return { status: 200, body: { messages: read, ...(first > 1 ? { before: first } : {}) } };
  },
);

const stop = defineRoute(
  {
    method: 'POST',
    path: '/v1/agents/{agent}/chat/{id}/stop',
    id: 'stopChat',
    tag: 'sessions',
    summary: 'Interrupt the answer that a chat of the AI SDK is giving',
    description: 'The answer ends as interrupted, with what has arrived. The chat takes the next message.',
    scope: 'runs:write',
    params: chatParams,
    body: emptyBody,
    bodyIsOptional: true,
    responses: { 200: { description: 'The answer is interrupted, or there was none.', schema: interruptReceipt } },
    problems: REQUEST_PROBLEMS,
  },
  async ({ params, caller, client, settings }) => {
    const session = chatSession({ ...params, caller, client, settings });
    if ((await session.status()).agentName !== params.agent) throw new LonghaulError('run_not_found', 'The agent has no chat of that id');
    return { status: 200, body: await session.interrupt({ by: recordedName(caller), reason: 'stopped in the chat' }) };
  },
);

/** Throws `agent_not_found`, and ends the chat that has just begun, if the worker that took it lacks its agent. */
async function requireWorkerWith(
  name: string,
  { session, client, caller }: { session: SessionHandle; client: LonghaulClient; caller: Caller },
): Promise<void> {
  const hint = await endUnknown(client, caller, { runId: session.id, name });
  if (hint !== undefined) throw new LonghaulError('agent_not_found', `No worker has an agent ${JSON.stringify(name)}${hint}`);
}

interface ChatOf {
  agent: string;
  id: string;
  caller: Caller;
  client: LonghaulClient;
  settings: ServerSettings;
}

function chatSession({ agent: name, id, caller, client, settings }: ChatOf): SessionHandle {
  const known = knownAgent(settings, name);
  const options = settings.chats?.({ agent: name, caller }) ?? {};
  return client.session<string>(known as string, { ...options, id: sessionIdOf(caller.principal, id) });
}

/** Returns the part of a turn by which its stream stays open while calls wait for others: for a caller who may not decide. */
function ofOthers(client: LonghaulClient, caller: Caller): Pick<FollowedTurn, 'answerOf'> {
  return hasScope(caller, 'approvals:decide') ? {} : { answerOf: (call) => recordedAnswer(client, call) };
}

/** Returns the status of a chat with an agent. A chat with another one is none of this route. */
async function statusOfChat(session: SessionHandle, name: string): Promise<StatusView | undefined> {
  const status = await statusIfKnown(session);
  return status?.agentName === name ? status : undefined;
}

async function statusIfKnown(session: SessionHandle): Promise<StatusView | undefined> {
  try {
    return await session.status();
  } catch (error) {
    // A page asks before its first message: that is no mistake.
    if (errorCode(error) === 'run_not_found' || errorCode(error) === 'not_a_run') return undefined;
    throw error;
  }
}

/** Returns the number of the turn that goes on, or of the one that an accepted message is about to begin; undefined for an idle session. */
function runningTurn({ status, session, queued, limits }: StatusView): number | undefined {
  if (isTerminal(status) || (status === 'idle' && queued === 0)) return undefined;
  // Before its agent is resolved, a run does not show if it is a session.
  if (session === undefined) return limits === undefined ? 1 : undefined;
  return session.turn ?? session.turns + 1;
}

/** The routes that the hooks of the AI SDK call. */
export const CHAT_ROUTES: readonly Route[] = [post, stream, messages, stop];
