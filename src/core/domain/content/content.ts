import type { JsonObject, JsonValue } from '../json/json.ts';

/** A piece of a message: text, or media by URL or by small inline data (base64). */
export type ContentPart =
  | { type: 'text'; text: string }
  | ({ type: 'image'; width?: number; height?: number } & MediaSource)
  | ({ type: 'audio'; format?: string } & MediaSource)
  | ({ type: 'video'; format?: string } & MediaSource)
  | ({ type: 'file'; name?: string } & MediaSource);

/** Where the bytes of a media part are: exactly one of `url` and `data` (base64). */
export interface MediaSource {
  url?: string;
  data?: string;
  mediaType?: string;
}

/** Who speaks in a message. */
export type Role = 'system' | 'user' | 'assistant';

/** A message of the conversation (seed 000). Content is text, or parts where media is involved. */
export interface Message {
  type: 'message';
  role: Role;
  content: string | ContentPart[];
}

/** The model's request to run a tool (seed 000). `arguments` is always an object. */
export interface ToolCall {
  type: 'tool_call';
  toolCallId: string;
  name: string;
  arguments: JsonObject;
}

/** What running a tool gave (seed 000). `content` is a list of any JSON values and may be empty. */
export interface ToolResult {
  type: 'tool_result';
  toolCallId: string;
  name: string;
  status: 'success' | 'error';
  content: JsonValue[];
  /** Where the whole content is, where `content` is its preview. */
  spilled?: SpilledContent;
}

/** Content that is in a payload store: too large for the conversation, and still to be had. */
export interface SpilledContent {
  /** The name of the store. */
  store: string;
  /** What the store finds it by. */
  claim: Record<string, string>;
  /** Bytes of the content as JSON. */
  bytes: number;
  /** SHA-256 of the content as JSON, in hexadecimal. */
  sha256: string;
}

/** What an event holds: a union on `type`. */
export type ContentItem = Message | ToolCall | ToolResult;

/** True for the tool calls among content items. */
export function isToolCall(item: ContentItem): item is ToolCall {
  return item.type === 'tool_call';
}
