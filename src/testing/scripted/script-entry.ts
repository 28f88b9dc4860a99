import { type Duration, milliseconds } from '../../core/domain/time.ts';
import { type ErrorCode, UsageError } from '../../core/domain/errors.ts';
import type { JsonValue } from '../../core/domain/json.ts';
import type { UsageStats } from '../../core/domain/usage.ts';

/** A tool call in a script. The scripted model gives it an id if it has none. */
export interface ScriptedCall {
  id?: string | undefined;
  name: string;
  /** An object, or the raw text that a model would send, valid JSON or not. */
  arguments: unknown;
}

/** The properties of a scripted answer besides its content. */
export interface ScriptedDetails {
  /** Tokens of the call; null stands for a provider that reports none. The default is 10 + 5. */
  usage?: UsageStats | null;
  /** The default is `tool_calls` with tool calls and `stop` without. */
  finishReason?: string;
  /** The text with which the model refuses. */
  refusal?: string;
  /** The number of pieces in which the text, and the arguments of each call, are streamed. Default 4, or one for each character if there are fewer. */
  chunks?: number;
  /** The time between two pieces: milliseconds, or a text such as `20ms`. Default none. */
  every?: Duration;
  /** The reasoning that is streamed before the text. It is not recorded. */
  reasoning?: string;
}

/** The pieces in which a scripted answer is streamed. */
export interface ScriptedPace {
  chunks: number;
  everyMs: number;
}

/** An answer of text and tool calls. */
export interface ScriptedReply extends ScriptedPace {
  type: 'reply';
  text: string;
  calls: ScriptedCall[];
  usage: UsageStats | null;
  finishReason?: string | undefined;
  refusal?: string | undefined;
  reasoning: string;
}

/** One entry of a script: the answer to one call. */
export type ScriptEntry =
  | ScriptedReply
  | { type: 'structured'; value: JsonValue; usage: UsageStats | null }
  | { type: 'failure'; code: ErrorCode; message: string; retryAfterMs: number | undefined }
  | { type: 'hang'; text: string }
  | { type: 'malformed'; response: unknown };

/** The number of pieces of a text whose script says nothing about them. */
export const DEFAULT_CHUNKS = 4;

const USAGE: UsageStats = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };

/** Answers with text, streamed in several pieces. */
export function say(text: string, details: ScriptedDetails = {}): ScriptedReply {
  const { usage = USAGE, finishReason, refusal, chunks = DEFAULT_CHUNKS, every, reasoning = '' } = details;
  if (!Number.isSafeInteger(chunks) || chunks < 1)
    throw new UsageError(`say: "chunks" is ${String(chunks)}: write a whole number of at least 1`);
  const everyMs = every === undefined ? 0 : milliseconds(every, 'say: "every"');
  return { type: 'reply', text, calls: [], usage, finishReason, refusal, reasoning, chunks, everyMs };
}

/** Calls a tool. `args` may be the raw text of the arguments, valid JSON or not. */
export function callTool(name: string, args: unknown = {}, id?: string): ScriptedReply {
  return { ...say(''), calls: [{ id, name, arguments: args }] };
}

/** Combines several answers into one: texts joined, all calls in order, as a model sends parallel tool calls. It has the pace of the first. */
export function together(first: ScriptedReply, ...others: ScriptedReply[]): ScriptedReply {
  const replies = [first, ...others];
  const text = replies.map((reply) => reply.text).join('');
  return { ...first, text, calls: replies.flatMap((reply) => reply.calls) };
}

/** Answers with a structured value in the form that the request asks for: as JSON text, or through `final_answer`. */
export function structured(value: JsonValue, details: Pick<ScriptedDetails, 'usage'> = {}): ScriptEntry {
  return { type: 'structured', value, usage: details.usage === undefined ? USAGE : details.usage };
}

/** Fails the model call. The code decides whether it is retried: a retry uses the next entry of the script. */
export function failWith(code: ErrorCode, message?: string, { retryAfter }: { retryAfter?: Duration } = {}): ScriptEntry {
  const retryAfterMs = retryAfter === undefined ? undefined : milliseconds(retryAfter, 'failWith: "retryAfter"');
  return { type: 'failure', code, message: message ?? `The scripted model failed with "${code}"`, retryAfterMs };
}

/** Never finishes: sends `text`, then waits until the call is aborted. */
export function hang(text = ''): ScriptEntry {
  return { type: 'hang', text };
}

/** Returns `response` unchanged, as a faulty model client would. */
export function malformed(response: unknown): ScriptEntry {
  return { type: 'malformed', response };
}
