import type { JsonValue } from '../../../../core/domain/json.ts';
import type { ChatMetadata } from './chat-metadata.ts';

/** The reason why an answer ends, in the words of the AI SDK. `tool-calls`: calls wait for decisions. */
export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other';

/** One chunk of the UI message stream protocol v1 of the AI SDK, as far as the service sends it. */
export type UiChunk =
  | { type: 'start'; messageId: string; messageMetadata: ChatMetadata }
  | { type: 'start-step' }
  | { type: 'finish-step' }
  /** Takes back the parts of the step. */
  | { type: 'reset-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'file'; url: string; mediaType: string }
  | { type: 'tool-input-start'; toolCallId: string; toolName: string }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: JsonValue }
  | { type: 'tool-output-available'; toolCallId: string; output: JsonValue }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | ApprovalRequestChunk
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string }
  | { type: `data-${string}`; id: string; data: JsonValue; transient: true }
  | { type: 'message-metadata'; messageMetadata: ChatMetadata }
  | { type: 'error'; errorText: string }
  | { type: 'abort' }
  | { type: 'finish'; finishReason: UiFinishReason; messageMetadata: ChatMetadata };

/** The request for a decision on a call. */
export interface ApprovalRequestChunk {
  type: 'tool-approval-request';
  approvalId: string;
  toolCallId: string;
  reason?: string;
  /** True: no person was asked, since a deadline or an earlier decision has decided. */
  isAutomatic?: true;
  approvalDescriptor?: JsonValue;
}
