import type { JsonObject, JsonValue } from '../json/json.ts';

/** A piece of a message: text, or media by URL or by small inline data (base64). */
export type ContentPart =
  | { type: 'text'; text: string }
  | ({ type: 'image'; width?: number; height?: number } & MediaSource)
  | ({ type: 'audio'; format?: string } & MediaSource)
  | ({ type: 'video'; format?: string } & MediaSource)
  | ({ type: 'file'; name?: string } & MediaSource);

/** The source of a media part: exactly one of `url` and `data` (base64). */
export interface MediaSource {
  url?: string;
  data?: string;
  mediaType?: string;
}

/** The speaker of a message. */
export type Role = 'system' | 'user' | 'assistant';

/** A message of the conversation. Its content is text, or a list of parts if it contains media. */
export interface Message {
  type: 'message';
  role: Role;
  content: string | ContentPart[];
}

/** The model's request to run a tool. `arguments` is always an object. */
export interface ToolCall {
  type: 'tool_call';
  toolCallId: string;
  name: string;
  arguments: JsonObject;
}

/** The result of a tool call. `content` is a list of any JSON values and may be empty. */
export interface ToolResult {
  type: 'tool_result';
  toolCallId: string;
  name: string;
  status: 'success' | 'error';
  content: JsonValue[];
  /** The location of the whole content, if `content` is only its preview. */
  spilled?: SpilledContent;
}

/** Content that is too large for the conversation and was moved to a payload store. */
export interface SpilledContent {
  /** The name of the store. */
  store: string;
  /** The key by which the store finds it. */
  claim: Record<string, string>;
  /** Bytes of the content as JSON. */
  bytes: number;
  /** SHA-256 of the content as JSON, in hexadecimal. */
  sha256: string;
}

/** One item of the content of an event: a union on `type`. */
export type ContentItem = Message | ToolCall | ToolResult;

/** True for the tool calls among content items. */
export function isToolCall(item: ContentItem): item is ToolCall {
  return item.type === 'tool_call';
}
