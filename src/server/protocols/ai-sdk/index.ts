// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../../../node-version/require-node.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';
import { errorMessage, isErrorCode, LonghaulError, memberOf, UsageError } from '../../../core/domain/errors.ts';
import { defined } from '../../../core/domain/json.ts';
import type { MessageReceipt } from '../../../core/protocol.ts';
import { type OptionTable, requireKnown } from '../../../define/option-checks.ts';
import { bodyProblems, type Problem, problemOf, RequestError } from '../../problems.ts';
import { readValue } from '../../schemas/read-value.ts';
import { acceptedTurn, runningTurn, statusIfKnown, turnOfReceipt } from './accepted-turn.ts';
import { messagesPage, type UIMessagesOptions, type UIMessagesPage } from './earlier-messages.ts';
import { type FollowedTurn, placeOfTurn, type Turn } from './followed-turn.ts';
import { chatBody, type PostedChat, readPostedChat, recordedAnswer } from './posted-chat.ts';
import { type FailureText, meaningOf } from './turn-encoder.ts';
import { type ErrorText, turnChunks, turnResponse } from './turn-response.ts';
import type { FileUrl, UiChunk } from './ui-message.ts';
import { type DecideAs, type PageDecisions, pageDecisions } from './who-decides.ts';

export type { ApprovalView } from '../../../core/domain/approvals.ts';
export type { SpilledContent } from '../../../core/domain/content.ts';
export type { UIMessagesOptions, UIMessagesPage } from './earlier-messages.ts';
export type { DecideAs } from './who-decides.ts';
export type {
  ChatMetadata,
  FileUrl,
  UiApproval,
  UiApprovalRequest,
  UiAskedApproval,
  UiCall,
  UiCallHead,
  UiCallState,
  UiChunk,
  UiDecidedApproval,
  UiFinishReason,
  UiMessage,
  UiPart,
  UiSource,
} from './ui-message.ts';

/** A session, or the handle of a run: what a page chats with. */
export type ChatTarget = SessionHandle<unknown, unknown> | RunHandle<unknown, unknown>;

/** The options of a stream for a page with the AI SDK. */
export interface UIMessageStreamOptions {
  /**
   * The body that `useChat` has sent, as it was parsed: its last message is sent to the session, if the user wrote it, and its answers to
   * approvals are applied. The stream is the turn that answers. Of a run, only the answers are read. Default: the answer in progress.
   */
  posted?: unknown;
  /** The receipt of a message that was sent with `send`: the stream is the turn that answers it. In place of `posted`. */
  receipt?: MessageReceipt;
  /**
   * The user of the page, who may decide about calls: recorded as `by`. The stream ends with a call that waits, and the page sends the
   * decision. A name decides about calls of tools and questions. A function gets each call that waits, of any kind, and returns the name of
   * who decides, or undefined. Default: the page may not decide. What the page does not decide is refused, and the stream waits until someone
   * else decides.
   */
  decideAs?: DecideAs;
  /** Returns the URL of a file that a model has made. Default: these files are not shown. */
  fileUrl?: FileUrl;
  /** Aborted once the reader has gone: breaks the stream off, and ends nothing else. */
  signal?: AbortSignal;
  /**
   * Receives failures that the user of the page can do nothing about, also those of turns, and may return the text that the page shows. Default: the error goes
   * to standard error, and the page shows what its code means.
   */
  onError?: (error: unknown) => string | undefined;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: OptionTable<UIMessageStreamOptions> = {
  posted: true,
  receipt: true,
  decideAs: true,
  fileUrl: true,
  signal: true,
  onError: true,
};

/**
 * Returns the turn of a session, or a whole run, as the stream of chunks from which the AI SDK builds a message: for
 * `createUIMessageStreamResponse` of `ai`, `readUIMessageStream` and so on. Pieces of answers arrive as the model writes them if workers and
 * client share a sink (`streams`), and otherwise once they are recorded. Undefined for a session that is giving no answer. A reader that
 * goes ends nothing. A failure is a chunk `error`; the stream breaks off if no server answers. Throws as `send`, `invalid_request` for a body
 * that is not one of `useChat`, `forbidden` for an answer to an approval without `decideAs`, and `run_not_found` for a run that does not exist.
 */
export async function toUIMessageStream(
  chat: ChatTarget,
  options: UIMessageStreamOptions = {},
): Promise<ReadableStream<UiChunk> | undefined> {
  checkOptions('"toUIMessageStream"', chat, options);
  const followed = await followedTurn(chat, options);
  return followed && chunkStream(followed, options);
}

/**
 * Returns the response to the request of `useChat`: `toUIMessageStream` as server-sent events; 204 for a session that is giving no
 * answer. A refused request is answered with the problem, as by the HTTP service. Throws a UsageError for invalid options.
 */
export async function toUIMessageStreamResponse(chat: ChatTarget, options: UIMessageStreamOptions = {}): Promise<Response> {
  checkOptions('"toUIMessageStreamResponse"', chat, options);
  const { signal = new AbortController().signal } = options;
  try {
    const followed = await followedTurn(chat, options);
    if (followed === undefined) return new Response(null, { status: 204 });
    return turnResponse(followed, { signal, closed: () => undefined }, errorTextFor(options));
  } catch (error) {
    if (signal.aborted || memberOf(error, 'name') === 'UsageError') throw error;
    return toProblemResponse(error, defined({ onError: options.onError }));
  }
}

/**
 * Returns the response for an error that a session, a run or one of these functions has thrown: the problem, with its status, as the HTTP
 * service answers it. What the user of the page can do nothing about goes to `onError`, which may return the text of the problem: also a
 * UsageError, which is a mistake in the code of the route.
 */
export function toProblemResponse(error: unknown, options: Pick<UIMessageStreamOptions, 'onError'> = {}): Response {
  const isMistake = memberOf(error, 'name') === 'UsageError';
  const shown = isMistake ? new LonghaulError('internal', errorMessage(error), { cause: error }) : error;
  const { problem, headers } = problemOf(shown, { method: 'POST', path: '' }, () => undefined);
  return Response.json(told(problem, error, options), { status: problem.status, headers: { ...headers, ...PROBLEM } });
}

const PROBLEM = { 'content-type': 'application/problem+json' };

/**
 * Returns the messages of the newest turns of a session, for a page that opens a chat that it does not have. A turn that has not ended has
 * only the user's messages: its stream has the answer from its beginning. A session that does not exist has none. Throws `history_removed`.
 */
export async function toUIMessages(session: SessionHandle<unknown, unknown>, options: UIMessagesOptions = {}): Promise<UIMessagesPage> {
  requireKnown('"toUIMessages"', options, { before: true, limit: true, fileUrl: true });
  requireChat('"toUIMessages"', session);
  for (const [name, what] of [
    ['limit', 'a number of turns'],
    ['before', 'the number of a turn, as the page before returned it'],
  ] as const) {
    const { [name]: value = 1 } = options;
    // A route that passes on a parameter of its request answers with this refusal (422).
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RequestError(
        'invalid_request',
        `"toUIMessages": "${name}" is ${printed(value)}, and not ${what}: a whole number, 1 or more`,
      );
  }
  return messagesPage(session.run, await statusIfKnown(session), options);
}

/** Throws a UsageError for a value that is neither a session nor a run, such as the client. */
function requireChat(name: string, chat: unknown): void {
  const isSession = memberOf(chat, 'run') !== undefined && memberOf(chat, 'send') !== undefined;
  if (isSession || memberOf(chat, 'runId') !== undefined) return;
  const got =
    typeof memberOf(chat, 'session') === 'function' ? 'is the client' : `is ${typeof chat === 'object' ? 'no session' : printed(chat)}`;
  throw new UsageError(`${name}: the first argument ${got}: give the session, client.session(agent, { id }), or the handle of a run`);
}

function printed(value: unknown): string {
  return typeof value === 'number' || value === undefined ? String(value) : JSON.stringify(value);
}

function checkOptions(name: string, chat: unknown, options: UIMessageStreamOptions): void {
  requireChat(name, chat);
  requireKnown(name, options, OPTIONS);
  const { receipt } = options;
  if (receipt !== undefined && (typeof memberOf(receipt, 'id') !== 'string' || typeof memberOf(receipt, 'turn') !== 'number'))
    throw new UsageError(`${name}: "receipt" is no receipt of a message to a session: give what "send" returned`);
  if (options.posted !== undefined && options.receipt !== undefined)
    throw new UsageError(`${name}: "posted" sends a message, and "receipt" is of one that was sent: give one of them`);
  const { decideAs } = options;
  if (decideAs !== undefined && typeof decideAs !== 'string' && typeof decideAs !== 'function')
    throw new UsageError(`${name}: "decideAs" is the name of the user who decides, or a function of the call that waits`);
  if (decideAs === '') throw new UsageError(`${name}: "decideAs" is empty: name the user who decides, or leave it out`);
}

/** Applies what the page has sent, and returns the turn to show; undefined for a session that is giving no answer. */
async function followedTurn(chat: ChatTarget, options: UIMessageStreamOptions): Promise<FollowedTurn | undefined> {
  const { decideAs, fileUrl } = options;
  const turn = await ('run' in chat ? turnOfSession(chat, options) : turnOfRun(chat, options));
  if (turn === undefined) return undefined;
  const run = 'run' in chat ? chat.run : chat;
  const { by } = pageDecisions(decideAs);
  const isOfOthers: FollowedTurn['isOfOthers'] = (waiting) => by(waiting) === undefined;
  return {
    ...turn,
    isOfOthers,
    answerOf: (call) => recordedAnswer(run, call),
    failureText: failureTextFor(options),
    ...defined({ fileUrl }),
  };
}

async function turnOfSession(session: SessionHandle<unknown, unknown>, options: UIMessageStreamOptions): Promise<Turn | undefined> {
  const { posted, receipt } = options;
  if (receipt !== undefined) return turnOfReceipt(session, receipt);
  const read = posted === undefined ? undefined : readBody(posted).chat;
  const status = await statusIfKnown(session);
  if (read !== undefined) return acceptedTurn({ session, ...deciding(options), recorded: status?.events ?? 0 }, read);
  const turn = status && runningTurn(status);
  if (status === undefined || turn === undefined) return undefined;
  return { run: session.run, turn, place: await placeOfTurn(session.run, turn, status.events) };
}

/** A run has one turn: all of it. The first message of its chat is its input. */
async function turnOfRun(run: RunHandle<unknown, unknown>, options: UIMessageStreamOptions): Promise<Turn> {
  const { posted, receipt } = options;
  if (receipt !== undefined) throw new UsageError('"receipt" is of a message to a session: leave it out to follow the run');
  const { session } = await run.status();
  if (session !== undefined) throw new UsageError(`"${run.runId}" is a session: give its handle, client.session(agent, { id })`);
  const { chat, asked } = posted === undefined ? {} : readBody(posted);
  if (asked !== undefined && asked > 1) {
    const detail = `Run "${run.runId}" answers one message, and the page has sent another one: chat with a session, client.session(agent, { id })`;
    throw new RequestError('invalid_request', detail);
  }
  const whole: Turn = { run, turn: 1, place: { offset: 0, step: 0 } };
  if (chat === undefined || chat.answers.length === 0) return whole;
  const { message: _, ...answers } = chat;
  const only = { run, status: () => run.status(), send: (...sent: Parameters<typeof run.send>) => run.send(...sent) };
  return acceptedTurn({ session: only, ...deciding(options), recorded: 0 }, answers);
}

/** Reads the body of `useChat`, with its number of messages of the user. Throws `invalid_request`. */
function readBody(posted: unknown): { chat: PostedChat; asked: number } {
  const read = readValue(chatBody, posted);
  if (read.ok) return { chat: readPostedChat(read.value), asked: read.value.messages.filter(({ role }) => role === 'user').length };
  throw new RequestError('invalid_request', 'The body is not one of "useChat": see "errors"', { errors: bodyProblems(read.problems) });
}

function deciding({ decideAs, signal = new AbortController().signal }: UIMessageStreamOptions): {
  decisions: PageDecisions;
  signal: AbortSignal;
} {
  return { decisions: pageDecisions(decideAs), signal };
}

/** Returns the problem as the page reads it, and reports it if the user of the page can do nothing about it. */
function told(problem: Problem, error: unknown, options: Pick<UIMessageStreamOptions, 'onError'>): Problem {
  if (problem.instance === undefined) return problem;
  const { instance: _, ...rest } = problem;
  return { ...rest, detail: reported(error, options) ?? problem.title };
}

/** Reports the failure of a turn, and returns what the page shows. */
function failureTextFor(options: UIMessageStreamOptions): FailureText {
  return ({ code, message }) =>
    reported(new LonghaulError(isErrorCode(code) ? code : 'internal', message), options) ?? meaningOf({ code, message });
}

function errorTextFor(options: UIMessageStreamOptions): ErrorText {
  return (error) => {
    const { problem } = problemOf(error, { method: 'GET', path: '' }, () => undefined);
    return told(problem, error, options).detail;
  };
}

function reported(error: unknown, { onError = printFailure }: Pick<UIMessageStreamOptions, 'onError'>): string | undefined {
  return onError(error);
}

function printFailure(error: unknown): undefined {
  process.stderr.write(
    `A stream for the AI SDK has failed: ${error instanceof Error ? (error.stack ?? error.message) : errorMessage(error)}\n`,
  );
}

/** Returns the chunks as a stream, pulled by its reader. */
function chunkStream(followed: FollowedTurn, options: UIMessageStreamOptions): ReadableStream<UiChunk> {
  const left = new AbortController();
  const { signal = left.signal } = options;
  const chunks = turnChunks(followed, AbortSignal.any([signal, left.signal]), errorTextFor(options));
  return new ReadableStream<UiChunk>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        left.abort();
        await chunks.return(undefined).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
