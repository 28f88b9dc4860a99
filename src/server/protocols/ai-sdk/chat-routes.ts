import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';
import { checkNewRunId } from '../../../temporal/run-workflow.ts';
import { defined } from '../../../core/domain/json.ts';
import { errorCode, errorMessage, LonghaulError, memberOf } from '../../../core/domain/errors.ts';
import type { Principal } from '../../../core/domain/run.ts';
import type { StatusView } from '../../../core/protocol.ts';
import { unknownField } from '../../../core/domain/text.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { type Caller, decidesAbout, principalOf, recordedName, requireScope, requireStart } from '../../auth/caller.ts';
import { problemOf, reportedRequest } from '../../problems.ts';
import { derivedId, endUnknown, knownAgent, missingDeps, soon, startableAgent } from '../../requests.ts';
import { defineRoute, ok, REQUEST_PROBLEMS, type Route, wholeNumber } from '../../route.ts';
import { component } from '../../schemas/values.ts';
import { emptyBody } from '../../schemas/requests.ts';
import { CHAT_OPTIONS, type ChatSessionOptions, type ServerSettings } from '../../server-options.ts';
import { openStream } from '../../streams.ts';
import { acceptedTurn, runningTurn, statusIfKnown } from './accepted-turn.ts';
import { DEFAULT_TURNS, messagesPage } from './earlier-messages.ts';
import { type FollowedTurn, placeOfTurn } from './followed-turn.ts';
import { chatBody, chatIdText, readPostedChat, recordedAnswer } from './posted-chat.ts';
import { type ErrorText, turnResponse } from './turn-response.ts';
import type { FileUrl } from './ui-message.ts';
import type { PageDecisions } from './who-decides.ts';

const agent = z.string().min(1).describe('The name of the agent.');
const chatParams = z.object({ agent, id: chatIdText.describe('The id of the chat.') });

/** The data of one message of a chat's stream. */
const chatChunk = component(
  'UiMessageChunk',
  z.looseObject({ type: z.string() }).describe('A chunk of the UI message stream protocol of the AI SDK. The last message is `[DONE]`.'),
);

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
    scope: 'chats:write',
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
    if (before === undefined) requireChatDeps(known, { caller, settings });
    // Without a stream slot for the answer, nothing is accepted: the client would send it again.
    const open = openStream({ caller, raw, signal, settings }, 'chats:write');
    try {
      const decisions: PageDecisions = {
        require: () => requireScope(caller, 'approvals:decide'),
        by: ({ kind }) => (decidesAbout(caller, kind) ? recordedName(caller) : undefined),
      };
      const to = { session, decisions, signal, recorded: before?.events ?? 0 };
      const turn = await soon(() => acceptedTurn(to, posted));
      if (before === undefined && typeof known === 'string') await requireWorkerWith(known, { session, client, caller });
      return turnResponse({ ...turn, ...shownTo(caller, session, settings) }, open, errorTextFor({ settings, raw }));
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
    scope: 'chats:read',
    params: chatParams,
    responses: { 200: ANSWER, 204: { description: 'The chat has no answer in progress, or there is no chat with this id.' } },
    problems: ['history_removed'],
  },
  async ({ params, caller, client, settings, signal, raw }) => {
    const session = chatSession({ ...params, caller, client, settings });
    const status = await statusOfChat(session, params.agent);
    const turn = status && runningTurn(status);
    if (status === undefined || turn === undefined) return { status: 204 };
    const place = await placeOfTurn(session.run, turn, status.events);
    const followed = { run: session.run, turn, place, ...shownTo(caller, session, settings) };
    return turnResponse(followed, openStream({ caller, raw, signal, settings }, 'chats:read'), errorTextFor({ settings, raw }));
  },
);

const chatMessages = component(
  'ChatMessages',
  z.object({
    messages: z
      .array(
        z.looseObject({
          id: z.string(),
          role: z.enum(['user', 'assistant']),
          metadata: z.looseObject({ runId: z.string(), turn: z.number() }),
          parts: z.array(z.looseObject({ type: z.string() })),
        }),
      )
      .describe('Messages in the form of `UIMessage` of the AI SDK.'),
    before: z.number().exactOptional().describe('Present if there are earlier turns: the `before` of the next page.'),
  }),
);

const messagesRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents/{agent}/chat/{id}',
    id: 'getChatMessages',
    tag: 'sessions',
    summary: 'Read the messages of a chat of the AI SDK',
    description:
      'For a page that opens a chat that it does not have: the newest turns, with the oldest of them first. A turn that has not ended has only ' +
      "the user's messages: its stream has the answer from its beginning. A chat that does not exist has no messages.",
    scope: 'chats:read',
    params: chatParams,
    query: z.strictObject({
      before: wholeNumber(1).exactOptional().describe('The `before` of the page before. Default: the newest turns.'),
      limit: wholeNumber(1, 100).exactOptional().describe(`The largest number of turns. Default ${DEFAULT_TURNS}.`),
    }),
    responses: ok(chatMessages, 'The messages, in the form of the AI SDK.'),
    problems: ['history_removed'],
  },
  async ({ params, query: { before, limit }, caller, client, settings }) => {
    const session = chatSession({ ...params, caller, client, settings });
    const status = await statusOfChat(session, params.agent);
    return {
      status: 200,
      body: await messagesPage(session.run, status, { ...defined({ before, limit }), fileUrl: filesOf(session.run, settings) }),
    };
  },
);

/** The answer to a stop request. */
const interruptReceipt = component(
  'ChatStopped',
  z.object({
    version: z.literal(1),
    interrupted: z.boolean().describe('False: the chat was giving no answer.'),
    turn: z.number().exactOptional(),
  }),
);

const stop = defineRoute(
  {
    method: 'POST',
    path: '/v1/agents/{agent}/chat/{id}/stop',
    id: 'stopChat',
    tag: 'sessions',
    summary: 'Interrupt the answer that a chat of the AI SDK is giving',
    description: 'The answer ends as interrupted, with what has arrived. The chat takes the next message.',
    scope: 'chats:write',
    params: chatParams,
    body: emptyBody,
    responses: { 200: { description: 'The answer is interrupted, or there was none.', schema: interruptReceipt } },
    problems: REQUEST_PROBLEMS,
  },
  async ({ params, caller, client, settings }) => {
    requireStart(caller, params.agent);
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
  const hint = await endUnknown(client, caller, { runId: session.id, name, waits: true });
  if (hint !== undefined) throw new LonghaulError('agent_not_found', `No worker has an agent ${JSON.stringify(name)}${hint}`);
}

interface ChatOf {
  agent: string;
  id: string;
  caller: Caller;
  client: LonghaulClient;
  settings: ServerSettings;
}

/** Throws for an agent whose chats lack fields of its deps: a page has no parameter for them. */
function requireChatDeps(known: AnyAgent | string, { caller, settings }: Pick<ChatOf, 'caller' | 'settings'>): void {
  if (typeof known === 'string') return;
  const missing = missingDeps(known, chatOptions({ agent: known.name, caller, settings }).deps);
  if (missing === undefined) return;
  const mend = 'return them from the option "chats" of the service, or give these fields defaults';
  throw new LonghaulError('invalid_input', `Agent "${known.name}" requires ${missing}, which a page cannot send: ${mend}`);
}

function chatSession({ agent: name, id, caller, client, settings }: ChatOf): SessionHandle {
  const known = knownAgent(settings, name);
  const options = chatOptions({ agent: name, caller, settings });
  const sessionId = checkNewRunId(sessionIdOf(principalOf(caller), id));
  try {
    return client.session<string>(known as string, { ...options, id: sessionId });
  } catch (cause) {
    const isOfOptions = memberOf(cause, 'name') === 'UsageError' || errorCode(cause) === 'invalid_input';
    if (settings.chats === undefined || !isOfOptions) throw cause;
    throw invalidOptions(name, errorMessage(cause), cause);
  }
}

/** Returns the operator's options of the sessions of an agent's chats. Throws `internal` for an option that a chat does not have. */
function chatOptions({ agent: name, caller, settings }: Pick<ChatOf, 'agent' | 'caller' | 'settings'>): ChatSessionOptions {
  const options: unknown = settings.chats?.({ agent: name, caller }) ?? {};
  if (typeof options !== 'object' || options === null || options instanceof Promise)
    throw invalidOptions(name, 'it returns the options themselves, and no promise');
  const problem = unknownField(options, CHAT_OPTIONS);
  if (problem !== undefined) throw invalidOptions(name, problem);
  return options;
}

/** Invalid options are a mistake of the operator, whom the log tells: the page gives only the id. */
function invalidOptions(name: string, why: string, cause?: unknown): LonghaulError {
  return new LonghaulError('internal', `"chats" returned invalid options for agent "${name}": ${why}`, { cause });
}

/** Returns what a stream shows to the caller: files, and the decisions of others on calls about which the caller may not decide. */
function shownTo(
  caller: Caller,
  { run }: SessionHandle,
  settings: ServerSettings,
): Pick<FollowedTurn, 'isOfOthers' | 'answerOf' | 'fileUrl'> {
  return {
    isOfOthers: ({ kind }) => !decidesAbout(caller, kind),
    answerOf: (call) => recordedAnswer(run, call),
    fileUrl: filesOf(run, settings),
  };
}

/** Returns the paths of the service with the files of a run. */
function filesOf({ runId }: Pick<RunHandle, 'runId'>, { prefix }: Pick<ServerSettings, 'prefix'>): FileUrl {
  return ({ sha256 }) => `${prefix}/v1/runs/${encodeURIComponent(runId)}/files/${sha256}`;
}

/** Reports failures of a stream to the operator, and says what the page may read about them. */
function errorTextFor({ settings, raw }: { settings: Pick<ServerSettings, 'report'>; raw: Request }): ErrorText {
  return (error) => {
    const { problem } = problemOf(error, reportedRequest(raw), settings.report);
    return problem.status < 500 ? problem.detail : problem.title;
  };
}

/** Returns the status of a chat with this agent; undefined if there is none. */
async function statusOfChat(session: SessionHandle, name: string): Promise<StatusView | undefined> {
  const status = await statusIfKnown(session);
  return status?.agentName === name ? status : undefined;
}

/** The routes that pages with the AI SDK call. */
export const CHAT_ROUTES: readonly Route[] = [post, stream, messagesRoute, stop];

/**
 * Returns the session id of a chat. Chat ids chosen by browsers are separate for each user of each tenant, so they never
 * collide. A caller without a principal can access all sessions, and uses their actual ids.
 */
function sessionIdOf(principal: Principal | undefined, chatId: string): string {
  if (principal === undefined) return chatId;
  return derivedId('chat', { tenant: principal.tenant ?? null, user: principal.user ?? null, chat: chatId });
}
