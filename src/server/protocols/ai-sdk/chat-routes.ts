import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { MessageReceipt } from '../../../core/protocol.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';
import { checkNewRunId } from '../../../temporal/run-workflow.ts';
import { defined } from '../../../core/domain/json.ts';
import { errorCode, errorMessage, LonghaulError, memberOf } from '../../../core/domain/errors.ts';
import type { Event } from '../../../core/domain/record.ts';
import { isTerminal, type Principal } from '../../../core/domain/run.ts';
import type { StatusView } from '../../../core/protocol.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { type Caller, hasScope, principalOf, recordedName, requireScope, requireStart } from '../../auth/caller.ts';
import { problemOf, reportedRequest, type ReportError } from '../../problems.ts';
import { derivedId, endUnknown, knownAgent, missingDeps, boundedId, soon, startableAgent } from '../../requests.ts';
import { defineRoute, ok, REQUEST_PROBLEMS, type Route, wholeNumber } from '../../route.ts';
import { component } from '../../schemas/values.ts';
import { emptyBody } from '../../schemas/requests.ts';
import type { ServerSettings } from '../../server-options.ts';
import { eventStream, type OpenStream, openStream, type StreamMessage } from '../../streams.ts';
import {
  answerApprovals,
  answeredCalls,
  type AppliedAnswer,
  changedMessage,
  chatBody,
  chatIdText,
  type PostedChat,
  readPostedChat,
  recordedAnswer,
  type UserMessage,
} from './posted-chat.ts';
import { MessageBuilder, recordedParts, type UiChunk, type UiMessage } from './ui-message.ts';
import { type EncodedTurn, eventsFrom, isOfUser, TurnEncoder } from './turn-encoder.ts';
import { type FollowedTurn, followTurn, placeOfTurn } from './followed-turn.ts';

const agent = z.string().min(1).describe('The name of the agent.');
const chatParams = z.object({ agent, id: chatIdText.describe('The id of the chat.') });

/** The default number of turns on a page of messages. */
const DEFAULT_TURNS = 20;

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

/** The header with the protocol version, which clients check. */
const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' };

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
      const to = { session, client, caller, signal, recorded: before?.events ?? 0 };
      const turn = await soon(() => acceptedTurn(to, posted));
      if (before === undefined && typeof known === 'string') await requireWorkerWith(known, { session, client, caller });
      return chatResponse({ ...turn, ...decisionsOfOthers(client, caller), prefix: settings.prefix }, open, { settings, raw });
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
    const followed = { run: session.run, turn, place, ...decisionsOfOthers(client, caller), prefix: settings.prefix };
    return chatResponse(followed, openStream({ caller, raw, signal, settings }, 'chats:read'), { settings, raw });
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

class TurnMessages {
  readonly #turn: EncodedTurn;
  readonly #encoder: TurnEncoder;
  readonly #answer = new MessageBuilder();
  readonly #asked: UiMessage[] = [];

  constructor(turn: EncodedTurn) {
    this.#turn = turn;
    this.#encoder = new TurnEncoder(turn);
    this.#answer.take(this.#encoder.begin());
  }

  take(offset: number, event: Event): void {
    if (isOfUser(event)) this.#asked.push(this.#userMessage(event));
    for (const chunk of this.#encoder.take({ type: 'event', offset, event, cursor: '' })) this.#answer.take(chunk);
  }

  messages(): UiMessage[] {
    const answer = this.#encoder.isOver ? this.#answer.message() : undefined;
    return [...this.#asked, ...(answer === undefined ? [] : [answer])];
  }

  #userMessage({ id, content }: Event): UiMessage {
    const { text, files } = recordedParts(content);
    const parts = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...files.map((file) => ({ type: 'file' as const, ...file }))];
    const { sessionId: runId, turn } = this.#turn;
    return { id, role: 'user', metadata: { runId, turn }, parts };
  }
}

/** Approximate bytes of JSON after which older turns are left to the next page. */
const PAGE_BYTES = 4_000_000;

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
  async ({ params, query: { before = Infinity, limit = DEFAULT_TURNS }, caller, client, settings }) => {
    const session = chatSession({ ...params, caller, client, settings });
    const status = await statusOfChat(session, params.agent);
    const last = status === undefined ? 0 : Math.min(before - 1, runningTurn(status) ?? status.session?.turns ?? 0);
    if (status === undefined || last < 1) return { status: 200, body: { messages: [] } };
    const range = { first: Math.max(1, last - limit + 1), last, known: status.events, prefix: settings.prefix };
    const { messages: read, first } = await earlierMessages(session.run, range);
    return { status: 200, body: { messages: read, ...(first > 1 ? { before: first } : {}) } };
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
  const missing = missingDeps(known, settings.chats?.({ agent: known.name, caller }).deps);
  if (missing === undefined) return;
  const mend = 'return them from the option "chats" of the service, or give these fields defaults';
  throw new LonghaulError('invalid_input', `Agent "${known.name}" requires ${missing}, which a page cannot send: ${mend}`);
}

function chatSession({ agent: name, id, caller, client, settings }: ChatOf): SessionHandle {
  const known = knownAgent(settings, name);
  const options = settings.chats?.({ agent: name, caller }) ?? {};
  const sessionId = checkNewRunId(sessionIdOf(principalOf(caller), id));
  try {
    return client.session<string>(known as string, { ...options, id: sessionId });
  } catch (cause) {
    // Invalid options are a mistake of the operator, whom the log tells: the page gives only the id.
    const isOfOptions = memberOf(cause, 'name') === 'UsageError' || errorCode(cause) === 'invalid_input';
    if (settings.chats === undefined || !isOfOptions) throw cause;
    throw new LonghaulError('internal', `"chats" returned invalid options for agent "${name}": ${errorMessage(cause)}`, { cause });
  }
}

/** Returns the option that keeps a turn's stream open while calls wait for others, if the caller may not decide. */
function decisionsOfOthers(client: LonghaulClient, caller: Caller): Pick<FollowedTurn, 'answerOf'> {
  return hasScope(caller, 'approvals:decide') ? {} : { answerOf: (call) => recordedAnswer(client, call) };
}

/** Returns the status of a chat with this agent; undefined if there is none. */
async function statusOfChat(session: SessionHandle, name: string): Promise<StatusView | undefined> {
  const status = await statusIfKnown(session);
  return status?.agentName === name ? status : undefined;
}

async function statusIfKnown(session: SessionHandle): Promise<StatusView | undefined> {
  try {
    return await session.status();
  } catch (error) {
    // A page may ask before its first message: that is not an error.
    if (errorCode(error) === 'run_not_found' || errorCode(error) === 'not_a_run') return undefined;
    throw error;
  }
}

/** Returns the number of the turn in progress or about to begin with an accepted message; undefined for an idle session. */
function runningTurn({ status, session, queued, limits }: StatusView): number | undefined {
  if (isTerminal(status) || (status === 'idle' && queued === 0)) return undefined;
  // Before its agent is resolved, a run does not show whether it is a session.
  if (session === undefined) return limits === undefined ? 1 : undefined;
  return session.turn ?? session.turns + 1;
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

interface ChatRequest {
  settings: { report: ReportError };
  raw: Request;
}

/**
 * Returns the response with the chunks of a turn. A client that disconnects does not end the turn. If the signal is aborted, the
 * connection breaks, so that the client does not mistake the part it has for the whole, and resumes the stream.
 */
function chatResponse(turn: FollowedTurn, { signal, closed }: OpenStream, request: ChatRequest): Response {
  const left = new AbortController();
  const reading = AbortSignal.any([signal, left.signal]);
  const over = (): void => {
    left.abort();
    closed();
  };
  return eventStream(messagesOf(turn, reading, request), { signal, headers: HEADERS, breaksIfCut: true, closed: over });
}

async function* messagesOf(turn: FollowedTurn, signal: AbortSignal, { settings, raw }: ChatRequest): AsyncGenerator<StreamMessage> {
  try {
    for await (const chunk of followTurn(turn, signal)) yield messageOf(chunk);
  } catch (error) {
    if (signal.aborted) throw error;
    const { problem } = problemOf(error, reportedRequest(raw), settings.report);
    if (errorCode(error) === 'server_unreachable') throw error;
    yield messageOf({ type: 'error', errorText: problem.status < 500 ? problem.detail : problem.title });
  }
  yield { data: '[DONE]' };
}

function messageOf(chunk: UiChunk): StreamMessage {
  return { data: JSON.stringify(chunk) };
}

/** A range of a chat's turns. */
interface TurnRange {
  first: number;
  last: number;
  /** The number of recorded events. */
  known: number;
  /** The path before every route of the service. Default: none. */
  prefix?: string;
}

/** Messages of turns, oldest first, with the number of the first turn. */
interface EarlierMessages {
  messages: UiMessage[];
  first: number;
}

/**
 * Reads the messages of turns from the record, as the stream of each turn would have shown them. A turn in progress has only the
 * user's messages: its stream has the answer from its beginning.
 */
export async function earlierMessages(run: Pick<RunHandle, 'runId' | 'context'>, range: TurnRange): Promise<EarlierMessages> {
  const { offset } = await placeOfTurn(run, range.first, range.known);
  const turns: UiMessage[][] = [];
  const of = { sessionId: run.runId, ...defined({ prefix: range.prefix }) };
  let turn = new TurnMessages({ ...of, turn: range.first });
  for await (const [at, event] of eventsFrom(run, offset)) {
    turn.take(at, event);
    if (event.turn === undefined) continue;
    turns.push(turn.messages());
    if (event.turn.number >= range.last) break;
    turn = new TurnMessages({ ...of, turn: event.turn.number + 1 });
  }
  if (turns.length <= range.last - range.first) turns.push(turn.messages());
  let bytes = 0;
  const kept = turns.findLastIndex((messages) => {
    bytes += JSON.stringify(messages).length;
    return bytes > PAGE_BYTES;
  });
  // The newest turn is always on the page.
  const skipped = Math.min(kept + 1, turns.length - 1);
  return { messages: turns.slice(skipped).flat(), first: range.first + skipped };
}

/** A chat, and the caller who has posted to it. */
interface PostedTo {
  session: SessionHandle;
  client: Pick<LonghaulClient, 'handle'>;
  caller: Caller;
  signal: AbortSignal;
  /** The number of events that the session had recorded before the request. */
  recorded: number;
}

/**
 * Applies what a client has posted, and returns the turn that answers it. An invalid answer to an approval is an error, except with
 * a new message, since the page sends the answer again with every message. Throws as `answerApprovals` and `send`.
 */
async function acceptedTurn(to: PostedTo, posted: PostedChat): Promise<FollowedTurn> {
  const { session, recorded } = to;
  const { run } = session;
  const { message, goesOn } = posted;
  const { applied, refusal } = await appliedAnswers(to, posted);
  if (message === undefined && refusal !== undefined) throw refusal;
  const receipt = message && (await sendPosted(session, message));
  // A session answers an already accepted message with its first receipt, or with one without an offset.
  const isRepeated = receipt !== undefined && (receipt.offset ?? 0) < recorded;
  // A request that continues a message is about its answers. A request for an answer that is already recorded is not.
  if (refusal !== undefined && (goesOn || (isRepeated && !posted.isRepeat))) throw refusal;
  if (goesOn && applied.length > 0) return continuedTurn(to, applied);
  const {
    id,
    queued,
    beforeStep,
    offset = Number.MAX_SAFE_INTEGER,
    turn = Math.max(1, (await session.status()).session?.turns ?? 1),
  } = receipt ?? {};
  const place = await placeOfTurn(run, turn, offset);
  // A session that has just started counts its first message before it has recorded it.
  const from = turn === 1 && beforeStep === 1 ? 0 : offset;
  const isNew = receipt?.offset !== undefined && id !== undefined && queued !== undefined;
  return { run, turn, place, ...(isNew ? { message: { id, offset: from, queued } } : {}) };
}

async function appliedAnswers({ session, caller, signal }: PostedTo, { answers }: PostedChat): ReturnType<typeof answerApprovals> {
  if (answers.length === 0) return { applied: [] };
  requireScope(caller, 'approvals:decide');
  return answerApprovals(session.run, answers, { by: recordedName(caller), signal });
}

/** Returns the newest turn with an answer, from after the response whose calls were answered. */
async function continuedTurn({ session: { run }, client }: PostedTo, applied: AppliedAnswer[]): Promise<FollowedTurn> {
  const turn = Math.max(...applied.map(({ subject }) => subject.turn));
  // Calls of other turns belong to other messages.
  const ofTurn = applied.filter(({ subject }) => subject.turn === turn);
  const after = Math.min(...ofTurn.map(({ subject }) => subject.offset));
  const answers = await answeredCalls(client, run.runId, ofTurn);
  return { run, turn, after, answers, place: await placeOfTurn(run, turn, after) };
}

/** Sends a message to the session. Throws `invalid_request` if it was sent before with other content. */
async function sendPosted(session: PostedTo['session'], { id, content }: UserMessage): Promise<MessageReceipt> {
  try {
    return await session.send(content, { id: boundedId(id) });
  } catch (error) {
    throw errorCode(error) === 'key_reused' ? changedMessage() : error;
  }
}
