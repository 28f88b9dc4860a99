import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { ApprovalView, Decision } from '../../../core/domain/approvals.ts';
import type { ContentPart } from '../../../core/domain/content.ts';
import { ERROR_CODES, errorCode, LonghaulError } from '../../../core/domain/errors.ts';
import { defined, type JsonValue, parsedJson } from '../../../core/domain/json.ts';
import { sleep } from '../../../temporal/waiting.ts';
import { httpStatusOf, RequestError } from '../../problems.ts';
import { component, list, MOST, nameText } from '../../schemas/values.ts';
import { type AnsweredCall, approvalOf, type ApprovalSubject, type AskedBelow } from './turn-calls.ts';
import type { PageDecisions } from './who-decides.ts';

/** The id of a chat, as the client chose it. */
export const chatIdText = nameText.max(200);

const postedMessage = z.looseObject({
  id: nameText,
  role: z.string(),
  parts: list(z.looseObject({ type: z.string() }), { max: MOST.parts }),
});

/** The body of a chat request, as `useChat` sends it. Members that the service does not name are for the page. */
export const chatBody = component(
  'Chat',
  z.looseObject({
    id: chatIdText.describe('The id of the chat, which identifies its session within the tenant.'),
    messages: list(postedMessage, { min: 1, max: MOST.items }).describe(
      'Only the last message, if the user wrote it, and the answers to approvals are read: the session has the conversation.',
    ),
    trigger: z.string().optional(),
    messageId: z.string().optional().describe('The message that the answer continues, or that is sent again.'),
  }),
);

type PostedMessage = z.output<typeof postedMessage>;

/** An answer to a request for a decision. */
interface ApprovalAnswer {
  approvalId: string;
  approved: boolean;
  reason?: string;
}

/** A message that the user wrote. */
export interface UserMessage {
  id: string;
  content: string | ContentPart[];
}

/** The parts of a chat request that are read. */
export interface PostedChat {
  /** The last message, if the user wrote it. */
  message?: UserMessage;
  answers: ApprovalAnswer[];
  /** True if the client continues a message of the assistant, and has its content so far. */
  goesOn: boolean;
  /** True if the client asks for an answer that was given before. */
  isRepeat: boolean;
}

/** The most answers in one request: each is a request to the run. With a message, only the newest count: older ones are sent again. */
const MOST_ANSWERS = 32;

const answeredApproval = z.object({
  state: z.literal('approval-responded'),
  approval: z.object({ id: z.string().min(1).max(4_000), approved: z.boolean(), reason: z.string().max(20_000).nullish() }),
});

/** Reads the body of a chat request. Throws `invalid_request` if it has no message and no answer. */
export function readPostedChat({ messages, trigger, messageId }: z.output<typeof chatBody>): PostedChat {
  const last = messages.at(-1);
  const isRepeat = trigger === 'regenerate-message';
  const named = isRepeat ? undefined : messages.find(({ id }) => id === messageId);
  const message = last?.role === 'user' ? userMessage(last, messages.length - 1) : undefined;
  const answers = answersIn(messages).slice(message === undefined ? 0 : -MOST_ANSWERS);
  if (answers.length > MOST_ANSWERS)
    throw invalidChat('#/messages', `${answers.length} answers to approvals: send at most ${MOST_ANSWERS}`);
  if (message === undefined && answers.length === 0) {
    throw invalidChat(
      '#/messages',
      'the last message is not one of the user, and none has an answer to an approval: the service reads nothing else',
    );
  }
  return { ...defined({ message }), answers, goesOn: (named ?? last)?.role === 'assistant', isRepeat };
}

function answersIn(messages: readonly PostedMessage[]): ApprovalAnswer[] {
  const byId = new Map<string, ApprovalAnswer>();
  for (const part of messages.flatMap(({ role, parts }) => (role === 'assistant' ? parts : []))) {
    const read = answeredApproval.safeParse(part);
    if (!read.success) continue;
    const { id, approved, reason } = read.data.approval;
    byId.set(id, { approvalId: id, approved, ...(typeof reason === 'string' ? { reason } : {}) });
  }
  return [...byId.values()];
}

function userMessage({ id, parts }: PostedMessage, index: number): UserMessage {
  const content = parts.flatMap((part, place) => partContent(part, `#/messages/${index}/parts/${place}`));
  if (content.length === 0) throw invalidChat(`#/messages/${index}/parts`, 'neither text nor files');
  const texts = content.map((part) => (part.type === 'text' ? part.text : undefined));
  const isText = texts.every((text) => text !== undefined);
  return { id, content: isText ? texts.join('\n') : content };
}

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const filePart = z.object({
  type: z.literal('file'),
  url: z.string().min(1),
  mediaType: z.string().min(1),
  filename: z.string().nullish(),
});

/** Parts of other types, such as `data-…`, only concern the page. */
function partContent(part: PostedMessage['parts'][number], pointer: string): ContentPart[] {
  if (part.type === 'text') {
    const read = textPart.safeParse(part);
    if (!read.success) throw invalidChat(pointer, 'a part of type "text" has a "text"');
    return read.data.text === '' ? [] : [{ type: 'text', text: read.data.text }];
  }
  if (part.type !== 'file') return [];
  const read = filePart.safeParse(part);
  if (!read.success) throw invalidChat(pointer, 'a part of type "file" has a "url" and a "mediaType"');
  return [fileContent(read.data)];
}

const DATA_URL = /^data:(?<mediaType>[^;,]*)(?:;[^;,]*)*;base64,(?<data>.*)$/s;

function fileContent({ url, mediaType, filename }: z.output<typeof filePart>): ContentPart {
  const inline = DATA_URL.exec(url)?.groups;
  const source = inline === undefined ? { url, mediaType } : { data: inline['data'] ?? '', mediaType };
  const [kind = ''] = mediaType.split('/');
  if (kind === 'image' || kind === 'audio' || kind === 'video') return { type: kind, ...source };
  return { type: 'file', ...source, ...(typeof filename === 'string' ? { name: filename } : {}) };
}

/** Returns the error for a message that was sent before with different content. */
export function changedMessage(): RequestError {
  return invalidChat('#/messageId', 'a message that was sent cannot be changed: send another one');
}

function invalidChat(pointer: string, detail: string): RequestError {
  return new RequestError('invalid_request', `The chat cannot continue: ${detail}`, { errors: [{ pointer, detail }] });
}

/** A run on which answers are applied. */
type DecidedChat = Pick<RunHandle, 'runId' | 'approvals' | 'approve' | 'reject' | 'respond'>;

/** An answer with the subject that its id names. */
type SubjectAnswer = ApprovalAnswer & { subject: ApprovalSubject };

export interface AppliedAnswer extends SubjectAnswer {
  /**
   * `taken`: the answer applies. `decided_before`: the call waits no more, and an earlier decision applies, which may differ, if there is
   * one. `not_waiting`: the call no longer waits and has no decision, for example because its turn was stopped.
   */
  outcome: 'taken' | 'decided_before' | 'not_waiting';
}

/** The applied answers of a request. */
interface AppliedAnswers {
  applied: AppliedAnswer[];
  /** The error of the first answer that the run or the service would always refuse. */
  refusal?: unknown;
}

/** How long the worker may take to authorize decisions before the chat asks for them again. */
const SETTLING_MS = 5_000;
const SHORTEST_PAUSE_MS = 50;

/**
 * Decides the calls that a client has answered, each bound to its digest, and waits until the run has taken the decisions. Only the
 * answer on a call that waits is a decision: what a call is says who decides about it. So a repeated answer changes nothing. A page sends
 * all its answers again with every message, so an invalid one must not block the others. Throws only temporary errors.
 */
export async function answerApprovals(
  run: DecidedChat,
  answers: readonly ApprovalAnswer[],
  { decisions, signal }: { decisions: PageDecisions; signal: AbortSignal },
): Promise<AppliedAnswers> {
  const { pending } = await run.approvals();
  const applied: AppliedAnswer[] = [];
  const refusals: unknown[] = [];
  for (const answer of answers) {
    try {
      const about = withSubject(answer);
      requireOfChat(run, about);
      const waiting = pending.find((one) => isOnCall(run, one, about));
      applied.push({ ...about, outcome: waiting === undefined ? 'decided_before' : await applyAnswer(run, about, { decisions, waiting }) });
    } catch (error) {
      if (!isFinal(error)) throw error;
      refusals.push(error);
    }
  }
  await untilDecided(run, applied, signal);
  return { applied, ...(refusals.length === 0 ? {} : { refusal: refusals[0] }) };
}

/** Waits until the calls are no longer pending, for a bounded time. */
async function untilDecided(run: DecidedChat, applied: readonly AppliedAnswer[], signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + SETTLING_MS;
  for (let pause = SHORTEST_PAUSE_MS; applied.length > 0 && Date.now() < deadline; pause *= 2) {
    const { pending } = await run.approvals();
    if (!applied.some((answer) => pending.some((one) => isAbout(run, one, answer)))) return;
    await sleep(pause, signal);
  }
}

function withSubject(answer: ApprovalAnswer): SubjectAnswer {
  const subject = approvalOf(answer.approvalId);
  if (subject !== undefined) return { ...answer, subject };
  throw new RequestError('invalid_request', `"${answer.approvalId.slice(0, 40)}" is not the id of an approval: send it as it was received`);
}

interface Deciding {
  decisions: PageDecisions;
  waiting: ApprovalView;
}

async function applyAnswer(run: DecidedChat, answer: SubjectAnswer, { decisions, waiting }: Deciding): Promise<AppliedAnswer['outcome']> {
  const { toolName, callId, digest } = waiting;
  if (digest !== answer.subject.digest) {
    const message = `The answer on call "${callId}" of "${toolName}" was made on other arguments than the call has: load the chat again`;
    throw new LonghaulError('digest_mismatch', message);
  }
  const by = decisions.by(waiting);
  if (by === undefined) throw new LonghaulError('forbidden', `Someone else decides about the call of "${toolName}"`);
  try {
    await decideCall(run, answer, { by, waiting });
    return 'taken';
  } catch (error) {
    const code = errorCode(error);
    if (code === 'already_decided') return 'decided_before';
    if (code === 'unknown_call' || code === 'run_ended') return 'not_waiting';
    throw error;
  }
}

async function decideCall(
  run: DecidedChat,
  { approvalId, approved, reason, subject }: SubjectAnswer,
  { by, waiting }: { by: string; waiting: ApprovalView },
): Promise<void> {
  const { runId, callId, digest } = subject;
  const about = { runId, callId, digest };
  const isAnswer = approved && (waiting.kind === 'question' || waiting.kind === 'outcome');
  const type = isAnswer ? 'respond' : approved ? 'approve' : 'reject';
  const options = { by, id: `chat-${createHash('sha256').update(`${type} ${approvalId}`).digest('hex').slice(0, 40)}` };
  if (type === 'respond') await run.respond(about, answerOf(waiting, reason), options);
  else if (type === 'approve') await run.approve(about, options);
  else await run.reject(about, { ...options, ...defined({ reason }) });
}

/** Returns the answer to a question: the reason of the approval, as text or as JSON. */
function answerOf(waiting: ApprovalView, reason: string | undefined): JsonValue {
  if (reason === undefined) {
    const question = `"${waiting.toolName}" asks a question: approve it with the answer as "reason"`;
    throw new RequestError('invalid_request', question);
  }
  if (waiting.answer?.['type'] === 'string') return reason;
  const answer = parsedJson(reason);
  return answer === undefined ? reason : answer;
}

/** True for an error about the answer itself, which recurs whenever it is sent. */
function isFinal(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && !ERROR_CODES[code].retryable && httpStatusOf(code) < 500;
}

/** Throws `run_not_found` for an answer about a run that is neither the chat's nor below it: nobody would hear that it decides nothing. */
function requireOfChat({ runId }: { runId: string }, { subject }: SubjectAnswer): void {
  if (subject.runId === runId || subject.runId.startsWith(`${runId}/`)) return;
  throw new LonghaulError('run_not_found', `No run "${subject.runId}" in this chat`);
}

function isOnCall({ runId }: { runId: string }, waiting: ApprovalView, { subject }: SubjectAnswer): boolean {
  return waiting.callId === subject.callId && (waiting.runId ?? runId) === subject.runId;
}

function isAbout(run: { runId: string }, waiting: ApprovalView, answer: SubjectAnswer): boolean {
  return waiting.digest === answer.subject.digest && isOnCall(run, waiting, answer);
}

/** The run of a chat, whose descendants have records of their own. */
type ChatRun = Pick<RunHandle, 'runId' | 'descendant'>;

/**
 * Returns the answers on calls of a session's descendants as their message shows them: with the decision that applies. The stream of
 * the session shows the answers on its own calls from the record.
 */
export async function answeredCalls(run: ChatRun, applied: readonly AppliedAnswer[]): Promise<AnsweredCall[]> {
  const below = applied.filter(({ subject }) => subject.runId !== run.runId);
  return Promise.all(below.map(async (answer) => answeredCall(run, answer)));
}

async function answeredCall(run: ChatRun, { outcome, ...answer }: AppliedAnswer): Promise<AnsweredCall> {
  if (outcome === 'taken') return answer;
  const decision = outcome === 'decided_before' ? await recordedDecision(run, answer.subject) : undefined;
  if (decision === undefined) return { ...answer, isUndecided: true };
  const { approvalId, subject } = answer;
  const approved = decision.type !== 'reject';
  const reason = decision.reason ?? (approved === answer.approved ? answer.reason : undefined);
  return { approvalId, subject, approved, ...defined({ reason }) };
}

/** Returns the answer on a descendant's call that others have decided, as its message shows it. */
export async function recordedAnswer(run: ChatRun, { approvalId, subject }: AskedBelow): Promise<AnsweredCall> {
  const decision = await recordedDecision(run, subject);
  if (decision === undefined) return { approvalId, subject, approved: true, isUndecided: true };
  const { type, reason } = decision;
  return { approvalId, subject, approved: type !== 'reject', ...defined({ reason }) };
}

/** Reads the decision on a call from the record of its run; undefined if the record no longer exists. */
async function recordedDecision(run: ChatRun, { runId, callId }: { runId: string; callId: string }): Promise<Decision | undefined> {
  let found: Decision | undefined;
  try {
    for await (const { decision } of run.descendant(runId).events()) if (decision?.callId === callId) found = decision;
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'history_removed' && code !== 'run_not_found') throw error;
  }
  return found;
}
