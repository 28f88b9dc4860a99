import { shownValue } from '../core/domain/text.ts';
import { type ErrorCode, ModelCallError, UsageError } from '../core/domain/errors.ts';
import { defined, type JsonValue } from '../core/domain/json.ts';
import type { ModelCallContext, ModelCapabilities, ModelClient, ModelRequest, ModelResponse } from '../core/domain/model.ts';
import type { ModelDelta } from '../core/domain/stream.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import { FINAL_ANSWER } from '../core/domain/tool-calls.ts';
import type { UsageStats } from '../core/domain/usage.ts';
import { realSleep } from '../temporal/real-timers.ts';
import { rejectedOnAbort } from '../temporal/waiting.ts';

/** The options of a scripted model. */
export interface ScriptedModelOptions {
  /** The capabilities of the model. Default: it accepts a JSON Schema for the answer. */
  capabilities?: ModelCapabilities;
  /** True if the last entry answers every further call. By default a call beyond the script fails. */
  repeatLast?: boolean;
}

/** A model that answers from a script and records its requests. */
export interface ScriptedModel extends ModelClient {
  /** Every request so far, in order. Each retry of a failed call is another request. */
  readonly requests: readonly ModelRequest[];
  /** Throws unless every entry of the script has answered a call, and no call exceeded the script. */
  assertUsedUp(): void;
}

/**
 * Creates a model for tests that answers each call with the next entry of the script. A call beyond the script fails,
 * with the length of the script in the message.
 *
 * @example
 * const model = scriptedModel([callTool('search', { query: 'pace' }), say('17,000 hours.')]);
 */
export function scriptedModel(script: readonly ScriptEntry[], options: ScriptedModelOptions = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    capabilities: options.capabilities ?? { structuredOutput: true },
    requests,
    // Results of hosted tools are part of the script.
    unknownHostedTool: () => undefined,
    call: async (request, context) => {
      const position = requests.push(structuredClone(request)) - 1;
      const entry = script[position] ?? (options.repeatLast ? script.at(-1) : undefined);
      if (entry === undefined) {
        throw new ModelCallError(
          'model_error',
          `The scripted model has no answer to call ${position + 1}: its script has ${script.length}. Add an entry, or pass {repeatLast: true}.`,
        );
      }
      return scriptedResponse(entry, request, context, position);
    },
    assertUsedUp: () => {
      if (requests.length === script.length || (requests.length > script.length && options.repeatLast)) return;
      const times = requests.length === 1 ? 'once' : `${requests.length} times`;
      const entries = script.length === 1 ? '1 entry' : `${script.length} entries`;
      throw new Error(`The scripted model was called ${times}, but its script has ${entries}.`);
    },
  };
}

async function scriptedResponse(
  entry: ScriptEntry,
  request: ModelRequest,
  context: ModelCallContext,
  position: number,
): Promise<ModelResponse> {
  context.signal.throwIfAborted();
  switch (entry.type) {
    case 'reply':
      return streamed(modelResponse(entry, identified(entry.calls, position)), entry, context);
    case 'structured':
      return structuredResponse(entry, request, context, position);
    case 'failure':
      throw new ModelCallError(entry.code, entry.message, { retryAfterMs: entry.retryAfterMs });
    case 'hang':
      await stream([{ type: 'text', text: entry.text }], AT_ONCE, context);
      return rejectedOnAbort(context.signal);
    case 'malformed':
      // The cast is wrong on purpose: the entry simulates a model client that returns something else.
      return entry.response as ModelResponse;
  }
}

/** Returns a structured value in the form that the request asks for: through `final_answer`, or as JSON text. */
function structuredResponse(
  entry: ScriptEntry & { type: 'structured' },
  request: ModelRequest,
  context: ModelCallContext,
  position: number,
): Promise<ModelResponse> {
  const asCall = request.tools.some((tool) => tool.name === FINAL_ANSWER);
  const calls = asCall ? identified([{ name: FINAL_ANSWER, arguments: { output: entry.value } }], position) : [];
  return streamed(
    modelResponse({ ...entry, text: asCall ? '' : JSON.stringify(entry.value) }, calls),
    { ...AT_ONCE, reasoning: '' },
    context,
  );
}

/** The default number of pieces of a text. */
const DEFAULT_CHUNKS = 4;

/** The default pace of entries. */
const AT_ONCE = { chunks: DEFAULT_CHUNKS, everyMs: 0 };

async function streamed(
  answered: ModelResponse,
  { reasoning, ...pace }: ScriptedPace & { reasoning: string },
  context: ModelCallContext,
): Promise<ModelResponse> {
  const { content, refusal = '', toolCalls } = answered;
  const calls = toolCalls.map(({ id, name, arguments: args }): ModelDelta => {
    return { type: 'tool_input', callId: String(id), toolName: String(name), text: argumentsText(args) };
  });
  const texts: ModelDelta[] = [
    { type: 'reasoning', text: reasoning },
    { type: 'text', text: content },
    { type: 'text', text: refusal },
  ];
  await stream([...texts, ...calls], pace, context);
  return answered;
}

/** Returns arguments as a provider streams them; empty for what no provider could send, such as too many levels. */
function argumentsText(args: unknown): string {
  try {
    return typeof args === 'string' ? args : (JSON.stringify(args) ?? '');
  } catch {
    return '';
  }
}

interface ReplyFields {
  text: string;
  usage: ModelResponse['usage'];
  finishReason?: string | undefined;
  refusal?: string | undefined;
}

function modelResponse({ text, usage, finishReason, refusal }: ReplyFields, toolCalls: ModelResponse['toolCalls']): ModelResponse {
  return {
    content: text,
    toolCalls,
    usage,
    finishReason: finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    ...defined({ refusal }),
  };
}

/** Gives calls without an id an id from their position in the script, so that two runs of a script are equal. */
function identified(calls: { id?: string | undefined; name: string; arguments: unknown }[], position: number): ModelResponse['toolCalls'] {
  return calls.map((call, index) => ({ id: call.id ?? `call_${position + 1}_${index + 1}`, name: call.name, arguments: call.arguments }));
}

/** Streams each part of an answer in pieces. Rejects with the signal's reason if it is aborted meanwhile. */
async function stream(parts: readonly ModelDelta[], { chunks, everyMs }: ScriptedPace, context: ModelCallContext): Promise<void> {
  const { onDelta, signal } = context;
  if (onDelta === undefined && everyMs === 0) return;
  for (const part of parts) {
    for (const text of pieces(part.text, chunks)) {
      onDelta?.({ ...part, text });
      if (everyMs > 0) await realSleep(everyMs, { signal });
    }
  }
}

/** Cuts a text into pieces of about the same length, each of whole characters. An empty text has none. */
function pieces(text: string, chunks: number): string[] {
  const characters = Array.from(text);
  const count = Math.min(chunks, characters.length);
  const at = (index: number): number => Math.round((index * characters.length) / count);
  return Array.from({ length: count }, (_, index) => characters.slice(at(index), at(index + 1)).join(''));
}

/** A tool call in a script. The scripted model gives it an id if it has none. */
export interface ScriptedCall {
  /** The id of the call. Default: a number. */
  id?: string | undefined;
  /** The name of the tool. */
  name: string;
  /** An object, or the raw text that a model would send, valid JSON or not. */
  arguments: unknown;
}

/** The properties of a scripted answer apart from its content. */
export interface ScriptedDetails {
  /** Tokens of the call; null simulates a provider that reports none. Default: 10 + 5. */
  usage?: UsageStats | null;
  /** Default: `tool_calls` with tool calls, otherwise `stop`. */
  finishReason?: string;
  /** The text with which the model refuses. */
  refusal?: string;
  /** The number of streamed pieces of the text and of each call's arguments. Default 4, or one per character if there are fewer. */
  chunks?: number;
  /** The time between two pieces: milliseconds, or a text such as `20ms`. Default none. */
  every?: Duration;
  /** The reasoning that is streamed before the text. It is not recorded. */
  reasoning?: string;
}

/** The pieces in which a scripted answer is streamed. */
interface ScriptedPace {
  /** The number of pieces. */
  chunks: number;
  /** Milliseconds between two pieces. */
  everyMs: number;
}

/** An answer of text and tool calls. */
export interface ScriptedReply extends ScriptedPace {
  /** Distinguishes the kinds of answers. */
  type: 'reply';
  /** The text of the answer. */
  text: string;
  /** The calls of the answer. */
  calls: ScriptedCall[];
  /** The tokens that the answer reports. */
  usage: UsageStats | null;
  /** Why the answer ended. */
  finishReason?: string | undefined;
  /** The text of a refusal. */
  refusal?: string | undefined;
  /** What the model thinks before it answers. */
  reasoning: string;
}

/** One entry of a script: the answer to one call. */
export type ScriptEntry =
  | ScriptedReply
  | { type: 'structured'; value: JsonValue; usage: UsageStats | null }
  | { type: 'failure'; code: ErrorCode; message: string; retryAfterMs: number | undefined }
  | { type: 'hang'; text: string }
  | { type: 'malformed'; response: unknown };

const USAGE: UsageStats = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };

/** Answers with text, streamed in several pieces. */
export function say(text: string, details: ScriptedDetails = {}): ScriptedReply {
  const { usage = USAGE, finishReason, refusal, chunks = DEFAULT_CHUNKS, every, reasoning = '' } = details;
  if (!Number.isSafeInteger(chunks) || chunks < 1)
    throw new UsageError(`say: "chunks" is ${shownValue(chunks)}: write a whole number of at least 1`);
  const everyMs = every === undefined ? 0 : milliseconds(every, 'say: "every"');
  return { type: 'reply', text, calls: [], usage, finishReason, refusal, reasoning, chunks, everyMs };
}

/** Calls a tool. `args` may be the raw text of the arguments, valid JSON or not. */
export function callTool(name: string, args: unknown = {}, id?: string): ScriptedReply {
  return { ...say(''), calls: [{ id, name, arguments: args }] };
}

/** Combines several answers into one: texts joined, all calls in order, like parallel tool calls of a model. Uses the first one's pace. */
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
