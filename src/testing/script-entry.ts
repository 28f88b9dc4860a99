import { type Duration, milliseconds } from '../core/domain/run/duration.ts';
import type { ErrorCode } from '../core/domain/errors/error.ts';
import type { JsonValue } from '../core/domain/json/json.ts';
import type { UsageStats } from '../core/domain/model/usage.ts';

/** A tool call in a script. Without an id the scripted model gives it one. */
export interface ScriptedCall {
  id?: string | undefined;
  name: string;
  /** An object, or the text that a model would send, broken or not. */
  arguments: unknown;
}

/** What every answer of a scripted model says beside its content. */
export interface ScriptedDetails {
  /** Tokens of the call; null stands for a provider that reports none. The default is 10 + 5. */
  usage?: UsageStats | null;
  /** The default is `tool_calls` with tool calls and `stop` without. */
  finishReason?: string;
  /** The text with which the model refuses. */
  refusal?: string;
}

/** An answer of text and tool calls. */
export interface ScriptedReply {
  type: 'reply';
  text: string;
  calls: ScriptedCall[];
  usage: UsageStats | null;
  finishReason?: string | undefined;
  refusal?: string | undefined;
}

/** One entry of a script: how the model answers one call. */
export type ScriptEntry =
  | ScriptedReply
  | { type: 'structured'; value: JsonValue; usage: UsageStats | null }
  | { type: 'failure'; code: ErrorCode; message: string; retryAfterMs: number | undefined }
  | { type: 'hang'; text: string }
  | { type: 'malformed'; response: unknown };

const USAGE: UsageStats = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };

/** The model answers with text. */
export function say(text: string, details: ScriptedDetails = {}): ScriptedReply {
  const { usage = USAGE, finishReason, refusal } = details;
  return { type: 'reply', text, calls: [], usage, finishReason, refusal };
}

/** The model calls a tool. `args` may be the raw text of the arguments, broken or not. */
export function callTool(name: string, args: unknown = {}, id?: string): ScriptedReply {
  return { ...say(''), calls: [{ id, name, arguments: args }] };
}

/** One answer made of several: texts joined, all calls in order, as a model that calls tools in parallel sends it. */
export function together(first: ScriptedReply, ...others: ScriptedReply[]): ScriptedReply {
  const replies = [first, ...others];
  const text = replies.map((reply) => reply.text).join('');
  return { ...first, text, calls: replies.flatMap((reply) => reply.calls) };
}

/** The model gives a structured answer, the way the request asks for it: as JSON text, or through `final_answer`. */
export function structured(value: JsonValue, details: Pick<ScriptedDetails, 'usage'> = {}): ScriptEntry {
  return { type: 'structured', value, usage: details.usage === undefined ? USAGE : details.usage };
}

/** The model call fails. The code decides whether it is tried again: a retry takes the next entry of the script. */
export function failWith(code: ErrorCode, message?: string, { retryAfter }: { retryAfter?: Duration } = {}): ScriptEntry {
  const retryAfterMs = retryAfter === undefined ? undefined : milliseconds(retryAfter, 'failWith: "retryAfter"');
  return { type: 'failure', code, message: message ?? `The scripted model failed with "${code}"`, retryAfterMs };
}

/** The model never finishes: it says `text`, then waits until the call is aborted. */
export function hang(text = ''): ScriptEntry {
  return { type: 'hang', text };
}

/** The model client breaks its promise: `response` is handed over as it is. */
export function malformed(response: unknown): ScriptEntry {
  return { type: 'malformed', response };
}
