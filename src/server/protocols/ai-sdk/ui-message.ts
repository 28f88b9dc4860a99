import {
  type ContentItem,
  type ContentPart,
  isToolCall,
  type Source,
  type SpilledContent,
  type ToolCall,
} from '../../../core/domain/content.ts';
import { defined, type JsonValue } from '../../../core/domain/json.ts';
import type { StopReason } from '../../../core/domain/run.ts';
import type { AggregatedUsage } from '../../../core/domain/usage.ts';

/** The request for a decision in the part of a call. */
export interface UiAskedApproval {
  /** The id of the approval, which the page sends back with its answer. */
  id: string;
  /** The kind of the request, its deadline and so on. */
  descriptor?: JsonValue;
  /** Why the call needs a decision. */
  requestReason?: string;
  /** True: a deadline or an earlier decision has decided. */
  isAutomatic?: true;
  /** Absent: the call waits. */
  approved?: never;
  /** Absent: the call waits. */
  reason?: never;
}

/** A request for a decision in the part of a call, and the decision. */
export interface UiDecidedApproval<Approved extends boolean = boolean> extends Omit<UiAskedApproval, 'approved' | 'reason'> {
  /** The decision. */
  approved: Approved;
  /** The reason of the decision. */
  reason?: string;
}

/** The decision on a call in a part of a message, or the request for it. */
export type UiApproval = UiAskedApproval | UiDecidedApproval;

/** What the part of a call has in every state. */
export interface UiCallHead {
  /** The name of the tool, after `tool-`. */
  type: `tool-${string}`;
  /** The id of the call. */
  toolCallId: string;
  /** The arguments. */
  input: JsonValue;
}

/**
 * How far a call is (`state`), with what it has then: the value that the tool has returned (`output`), the error (`errorText`), the request
 * for a decision and the decision (`approval`).
 */
export type UiCallState =
  | { state: 'input-available'; output?: never; errorText?: never; approval?: never }
  | { state: 'approval-requested'; output?: never; errorText?: never; approval: UiAskedApproval }
  | { state: 'approval-responded'; output?: never; errorText?: never; approval: UiDecidedApproval }
  | { state: 'output-available'; output: JsonValue; errorText?: never; approval?: UiDecidedApproval<true> }
  | { state: 'output-error'; output?: never; errorText: string; approval?: UiDecidedApproval<true> }
  | { state: 'output-denied'; output?: never; errorText?: never; approval: UiDecidedApproval<false> };

/** A call of a tool in a message. */
export type UiCall = UiCallHead & UiCallState;

/** A part of an AI SDK message that the record holds. */
export type UiPart =
  | { type: 'step-start' }
  | { type: 'text'; text: string; state?: 'done' }
  | { type: 'file'; mediaType: string; url: string }
  | UiSource
  | UiCall;

/** A page or a document that the provider of the model has used. */
export type UiSource =
  | { type: 'source-url'; sourceId: string; url: string; title?: string }
  | { type: 'source-document'; sourceId: string; mediaType: string; title: string; filename?: string };

/** A message of an AI SDK chat. */
export interface UiMessage {
  /** The id of the message: of an answer, derived from its turn. */
  id: string;
  /** Who has written it. */
  role: 'user' | 'assistant';
  /** The run and the turn of the message; for an answer, also how the turn ended and its usage. */
  metadata: ChatMetadata;
  /** The parts, in their order. */
  parts: UiPart[];
}

/** Builds the message of an answer from the chunks of an ended turn, as the AI SDK does from their stream. */
export class MessageBuilder {
  readonly #parts: UiPart[] = [];
  #id = '';
  #metadata: ChatMetadata | undefined;

  take(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        this.#id = chunk.messageId;
        this.#metadata = chunk.messageMetadata;
        return;
      case 'start-step':
        this.#parts.push({ type: 'step-start' });
        return;
      case 'reset-step':
        this.#parts.splice(this.#parts.findLastIndex(({ type }) => type === 'step-start') + 1);
        return;
      case 'text-start':
        this.#parts.push({ type: 'text', text: '', state: 'done' });
        return;
      case 'text-delta':
        return this.#append(chunk.delta);
      case 'file':
        this.#parts.push({ type: 'file', mediaType: chunk.mediaType, url: chunk.url });
        return;
      case 'source-url':
      case 'source-document':
        this.#parts.push(chunk);
        return;
      case 'tool-input-available':
        return this.#called(chunk);
      case 'tool-approval-request':
        return this.#change(chunk.toolCallId, () => ({ state: 'approval-requested', approval: approvalOf(chunk) }));
      case 'tool-approval-response':
        return this.#responded(chunk);
      case 'tool-output-available':
        return this.#change(chunk.toolCallId, (call) => ({ state: 'output-available', output: chunk.output, ...withApproval(call) }));
      case 'tool-output-error':
        return this.#change(chunk.toolCallId, (call) => ({ state: 'output-error', errorText: chunk.errorText, ...withApproval(call) }));
      case 'tool-output-denied':
        return this.#change(chunk.toolCallId, denied);
      case 'finish':
      case 'message-metadata':
        this.#metadata = chunk.messageMetadata;
        return;
      default:
        // Pieces and ends of parts: the record has whole parts.
        return;
    }
  }

  /** Returns the message; undefined before its first chunk. */
  message(): UiMessage | undefined {
    if (this.#metadata === undefined) return undefined;
    // A recorded message has no place in the session's stream.
    const { cursor: _, ...metadata } = this.#metadata;
    return { id: this.#id, role: 'assistant', metadata, parts: this.#parts };
  }

  #append(text: string): void {
    const part = this.#parts.at(-1);
    if (part?.type === 'text') part.text += text;
  }

  #called({ toolCallId, toolName, input }: UiChunk & { type: 'tool-input-available' }): void {
    const called: UiCall = { type: `tool-${toolName}`, toolCallId, state: 'input-available', input };
    const index = this.#parts.findIndex((part) => 'toolCallId' in part && part.toolCallId === toolCallId);
    if (index === -1) this.#parts.push(called);
    else this.#parts[index] = called;
  }

  #responded({ approvalId, approved, reason }: UiChunk & { type: 'tool-approval-response' }): void {
    const call = this.#parts.find((part): part is UiCall => 'toolCallId' in part && part.approval?.id === approvalId);
    if (call === undefined) return;
    this.#change(call.toolCallId, ({ approval }) => {
      return { state: 'approval-responded', approval: { ...approval, id: approvalId, approved, ...defined({ reason }) } };
    });
  }

  #change(id: string, stateOf: (call: UiCall) => UiCallState): void {
    const index = this.#parts.findIndex((part) => 'toolCallId' in part && part.toolCallId === id);
    const call = this.#parts[index];
    if (call === undefined || !('toolCallId' in call)) return;
    const { type, toolCallId, input } = call;
    this.#parts[index] = { type, toolCallId, input, ...stateOf(call) };
  }
}

/** Returns the decision to execute the call, if there was one. */
function withApproval({ approval }: UiCall): { approval?: UiDecidedApproval<true> } {
  return approval?.approved === true ? { approval: { ...approval, approved: true } } : {};
}

/** Returns the state of a call after its rejection, which comes before its denial. */
function denied(call: UiCall): UiCallState {
  const { approval } = call;
  return approval?.approved === false ? { state: 'output-denied', approval: { ...approval, approved: false } } : call;
}

function approvalOf({ approvalId: id, approvalDescriptor: descriptor, reason, isAutomatic }: UiApprovalRequest): UiAskedApproval {
  return {
    id,
    ...defined({ descriptor, requestReason: reason, isAutomatic }),
  };
}

/** Why an answer ends, in the AI SDK's terms. `tool-calls`: calls wait for decisions. */
export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other';

/** The chunks of the AI SDK's UI message stream protocol v1 that the service sends. */
export type UiChunk =
  | { type: 'start'; messageId: string; messageMetadata: ChatMetadata }
  | { type: 'start-step' }
  | { type: 'finish-step' }
  /** Discards the parts of the step. */
  | { type: 'reset-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'file'; url: string; mediaType: string }
  | UiSource
  | { type: 'tool-input-start'; toolCallId: string; toolName: string }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: JsonValue }
  | { type: 'tool-output-available'; toolCallId: string; output: JsonValue }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | UiApprovalRequest
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string }
  | { type: `data-${string}`; id: string; data: JsonValue; transient: true }
  | { type: 'message-metadata'; messageMetadata: ChatMetadata }
  | { type: 'error'; errorText: string }
  | { type: 'abort' }
  | { type: 'finish'; finishReason: UiFinishReason; messageMetadata: ChatMetadata };

/** The request for a decision on a call. */
export interface UiApprovalRequest {
  /** The type of the chunk. */
  type: 'tool-approval-request';
  /** The id of the approval, which the page sends back with its answer. */
  approvalId: string;
  /** The id of the part that shows the call. */
  toolCallId: string;
  /** Why the call needs a decision. */
  reason?: string;
  /** True: a deadline or an earlier decision has decided, and no person was asked. */
  isAutomatic?: true;
  /** The kind of the request, its deadline and so on. */
  approvalDescriptor?: JsonValue;
}

/** The recorded parts of a response, in the order of a message. */
export interface RecordedParts {
  text: string;
  files: { url: string; mediaType: string }[];
  calls: readonly ToolCall[];
}

/** Returns the URL of a generated file. */
export type FileUrl = (spilled: SpilledContent) => string;

/** Returns the parts of the content of a response. Generated files have a URL only if `fileUrl` is given. */
export function recordedParts(content: readonly ContentItem[], fileUrl?: FileUrl): RecordedParts {
  const parts = content.flatMap((item): ContentPart[] => {
    if (item.type !== 'message') return [];
    return typeof item.content === 'string' ? [{ type: 'text', text: item.content }] : item.content;
  });
  return {
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    files: parts.flatMap((part) => (part.type === 'text' ? [] : fileOf(part, fileUrl))),
    calls: content.filter(isToolCall),
  };
}

function fileOf(
  { type, url, data, mediaType, spilled }: Exclude<ContentPart, { type: 'text' }>,
  fileUrl: FileUrl | undefined,
): RecordedParts['files'] {
  const ofType = mediaType ?? (type === 'file' ? 'application/octet-stream' : type);
  if (spilled !== undefined) return fileUrl === undefined ? [] : [{ url: fileUrl(spilled), mediaType: ofType }];
  if (url !== undefined) return [{ url, mediaType: ofType }];
  return data === undefined ? [] : [{ url: `data:${ofType};base64,${data}`, mediaType: ofType }];
}

/** Returns the chunks with the sources of an answer, each page once. */
export function sourceChunks(eventId: string, sources: readonly Source[] = []): UiChunk[] {
  const known = new Set<string>();
  return sources.flatMap((source, index): UiChunk[] => {
    const { url, title, filename, mediaType = 'application/octet-stream' } = source;
    const sourceId = `${eventId}-source-${index + 1}`;
    if (url === undefined)
      return [{ type: 'source-document', sourceId, mediaType, title: title ?? filename ?? '', ...defined({ filename }) }];
    if (known.has(url)) return [];
    known.add(url);
    return [{ type: 'source-url', sourceId, url, ...defined({ title }) }];
  });
}

/** Returns the chunk with the arguments of a recorded call. */
export function callChunk({ toolCallId, name, arguments: input }: ToolCall): UiChunk {
  return { type: 'tool-input-available', toolCallId, toolName: name, input };
}

/** The metadata of an answer in a chat. The first chunk has the run and the turn, the last one the rest. */
export interface ChatMetadata {
  /** The id of the session, which is a run id that other routes of the service accept. */
  runId: string;
  /** 1-based. */
  turn: number;
  /** True for a message of the user that no model has read: it can be sent again under its id. */
  unread?: true;
  /** Why the run ended. Absent while it runs. */
  stopReason?: StopReason;
  /** The usage of the turn so far. */
  usage?: AggregatedUsage;
  /** The cursor of the session's stream after what was sent. */
  cursor?: string;
}
