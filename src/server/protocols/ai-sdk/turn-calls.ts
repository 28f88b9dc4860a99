import type { ApprovalView, Decision } from '../../../core/domain/approvals.ts';
import { isToolCall, type ToolResult } from '../../../core/domain/content.ts';
import { defined, type JsonObject, parsedJson } from '../../../core/domain/json.ts';
import type { Event } from '../../../core/domain/record.ts';
import { resultText } from '../../../core/domain/tool-calls.ts';
import type { UiChunk } from './ui-message.ts';

/** The decision that applies to a call that a client has answered. */
export interface AnsweredCall {
  approvalId: string;
  approved: boolean;
  reason?: string;
  subject: { runId: string; callId: string };
  /** True: the call no longer waits, and no decision on it is known. The rest is what the client sent. */
  isUndecided?: true;
}

const UNDECIDED = 'The call was not decided on in time: it waits no more';

/** A descendant's call that a message asks about. */
export interface AskedBelow {
  approvalId: string;
  subject: { runId: string; callId: string };
}

/** The calls of a turn: their approvals, decisions and results. */
export class TurnCalls {
  readonly #sessionId: string;
  readonly #turn: number;
  /** The offset of the response with each call. */
  readonly #offsets = new Map<string, number>();
  readonly #rejected = new Set<string>();
  /** The calls with a result. */
  readonly #ended = new Set<string>();
  /** The ids of the parts that ask for a decision. */
  readonly #asked = new Set<string>();
  /** The parts about descendants' calls that have no answer yet: the session's record has none. */
  readonly #below = new Map<string, AskedBelow>();
  /** The offset of the newest response, to which an approval about no call of the session belongs. */
  #newest = 0;

  constructor({ sessionId, turn }: { sessionId: string; turn: number }) {
    this.#sessionId = sessionId;
    this.#turn = turn;
  }

  /** Records the calls of an event. */
  made(offset: number, { content, caller }: Event): void {
    // Calls of code belong to the response that runs the code.
    if (caller !== 'code') this.#newest = offset;
    for (const item of content) if (isToolCall(item)) this.#offsets.set(item.toolCallId, this.#newest);
  }

  /** True unless a call of the session waits that no event has named yet. */
  hasAll(pending: readonly ApprovalView[]): boolean {
    return pending.every(({ kind, runId = this.#sessionId, callId }) => {
      return runId !== this.#sessionId || kind === 'limit' || this.#offsets.has(callId);
    });
  }

  /** True if calls of the newest response run while others wait. False if a descendant waits: its agent's call runs until the decision. */
  areRunning(pending: readonly ApprovalView[]): boolean {
    if (!pending.every(({ callId }) => this.#offsets.has(callId))) return false;
    const waiting = new Set(pending.map(({ callId }) => callId));
    return [...this.#offsets].some(([callId, offset]) => offset === this.#newest && !this.#ended.has(callId) && !waiting.has(callId));
  }

  /** The descendants' calls that a part asks about. */
  get below(): readonly AskedBelow[] {
    return [...this.#below.values()];
  }

  /** Returns the approvals that no part asks for yet. */
  unasked(pending: readonly ApprovalView[]): ApprovalView[] {
    return pending.filter(({ runId = this.#sessionId, callId }) => !this.#asked.has(partOf(this.#sessionId, { runId, callId })));
  }

  /**
   * Yields the requests for decisions. A descendant's call, and a limit, get separate parts. Why a call waits is text for who decides: a page
   * gets it only for its own decisions.
   */
  *ask(pending: readonly ApprovalView[], { isOfOthers }: { isOfOthers: boolean }): Generator<UiChunk> {
    for (const waiting of pending) {
      const { callId, digest, runId = this.#sessionId, toolName, arguments: input, reason } = waiting;
      const isOwn = runId === this.#sessionId;
      const toolCallId = partOf(this.#sessionId, { runId, callId });
      const approvalId = this.#approvalId({ runId, callId, digest });
      this.#asked.add(toolCallId);
      if (!isOwn) this.#below.set(toolCallId, { approvalId, subject: { runId, callId } });
      if (!isOwn || !this.#offsets.has(callId)) yield { type: 'tool-input-available', toolCallId, toolName, input };
      yield {
        type: 'tool-approval-request',
        approvalId,
        toolCallId,
        approvalDescriptor: isOfOthers ? { ...descriptorOf(waiting), decidedBy: 'others' } : descriptorOf(waiting),
        ...(isOfOthers ? {} : defined({ reason })),
      };
    }
  }

  /** Yields the end of a part that shows a descendant's call. */
  *answered({ approvalId, approved, reason, subject, isUndecided }: AnsweredCall): Generator<UiChunk> {
    if (subject.runId === this.#sessionId) return;
    const toolCallId = partOf(this.#sessionId, subject);
    this.#below.delete(toolCallId);
    yield { type: 'tool-approval-response', approvalId, approved, ...defined({ reason }) };
    if (approved && isUndecided) yield { type: 'tool-output-error', toolCallId, errorText: UNDECIDED };
    else yield outcomeChunk(toolCallId, { approved, output: {} });
  }

  /** Yields the decision and the results that an event records. */
  *settle({ decision, content }: Event): Generator<UiChunk> {
    if (decision !== undefined) yield* this.#decided(decision);
    for (const item of content) {
      if (item.type !== 'tool_result' || !this.#offsets.has(item.toolCallId)) continue;
      this.#ended.add(item.toolCallId);
      yield this.#resultChunk(item);
    }
  }

  *#decided({ type, callId: toolCallId, toolName, digest, arguments: edited, reason, source }: Decision): Generator<UiChunk> {
    const isCall = this.#offsets.has(toolCallId);
    if (!isCall || edited !== undefined) yield { type: 'tool-input-available', toolCallId, toolName, input: edited ?? {} };
    const approvalId = this.#approvalId({ runId: this.#sessionId, callId: toolCallId, digest });
    const isAutomatic = source === 'deadline' || source === 'remembered';
    yield { type: 'tool-approval-request', approvalId, toolCallId, ...(isAutomatic ? { isAutomatic } : {}) };
    const approved = type !== 'reject';
    yield { type: 'tool-approval-response', approvalId, approved, ...defined({ reason }) };
    if (approved) this.#rejected.delete(toolCallId);
    else this.#rejected.add(toolCallId);
    if (!isCall) yield outcomeChunk(toolCallId, { approved, output: edited ?? {} });
  }

  #resultChunk({ toolCallId, status, content }: ToolResult): UiChunk {
    if (status === 'error' && this.#rejected.has(toolCallId)) return { type: 'tool-output-denied', toolCallId };
    if (status === 'error') return { type: 'tool-output-error', toolCallId, errorText: resultText(content) };
    const [first = null, ...others] = content;
    return { type: 'tool-output-available', toolCallId, output: others.length === 0 ? first : content };
  }

  #approvalId({ runId, callId, digest }: { runId: string; callId: string; digest: string }): string {
    const offset = (runId === this.#sessionId ? this.#offsets.get(callId) : undefined) ?? this.#newest;
    return approvalIdOf({ runId, callId, digest, turn: this.#turn, offset });
  }
}

/** Returns the id of the part of a message that shows a call of the session or of a descendant. */
function partOf(sessionId: string, { runId, callId }: { runId: string; callId: string }): string {
  return runId === sessionId ? callId : `${runId}:${callId}`;
}

/** Returns the last chunk of a part that no recorded result ends. */
function outcomeChunk(toolCallId: string, { approved, output }: { approved: boolean; output: JsonObject }): UiChunk {
  return approved ? { type: 'tool-output-available', toolCallId, output } : { type: 'tool-output-denied', toolCallId };
}

/** Returns what a page needs to ask for a decision: its kind, its deadline, and the schema of an answer. */
function descriptorOf({ kind, toolName, deadlineAt, onDeadline, answer, argumentsCut }: ApprovalView): JsonObject {
  return {
    kind,
    toolName,
    ...defined({ deadlineAt, onDeadline, answer, argumentsCut }),
  };
}

/** The subject of an approval, which its id carries through a client. The run checks it again: a forged id decides nothing else. */
export interface ApprovalSubject {
  /** The run that waits: the session or a descendant. */
  runId: string;
  callId: string;
  /** The digest of the call and its arguments. */
  digest: string;
  /** The turn of the session that waits. 1-based. */
  turn: number;
  /** The offset of the response with the call: a client that answers has everything before it. */
  offset: number;
}

/** Returns the id of an approval: the same in every replay. */
export function approvalIdOf({ runId, callId, digest, turn, offset }: ApprovalSubject): string {
  return Buffer.from(JSON.stringify([runId, callId, digest, turn, offset])).toString('base64url');
}

/** Returns the subject in the id of an approval; undefined for an invalid text. */
export function approvalOf(id: string): ApprovalSubject | undefined {
  const parts = parsedJson(Buffer.from(id, 'base64url').toString());
  if (!Array.isArray(parts) || parts.length !== 5) return undefined;
  const [runId, callId, digest, turn, offset] = parts;
  if (!isName(runId) || !isName(callId) || !isName(digest) || !isCount(turn) || !isCount(offset)) return undefined;
  return { runId, callId, digest, turn, offset };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
