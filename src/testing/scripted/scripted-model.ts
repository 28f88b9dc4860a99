import { FINAL_ANSWER } from '../../core/domain/tool-calls.ts';
import { ModelCallError } from '../../core/domain/errors.ts';
import type { ModelCallContext, ModelCapabilities, ModelClient, ModelRequest, ModelResponse } from '../../core/domain/model.ts';
import type { ModelDelta } from '../../core/domain/stream.ts';
import { DEFAULT_CHUNKS, type ScriptedPace, type ScriptEntry } from './script-entry.ts';

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
  /** Throws unless every entry of the script has answered a call, and no call went beyond the script. */
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
    call: async (request, context) => {
      const position = requests.push(structuredClone(request)) - 1;
      const entry = script[position] ?? (options.repeatLast ? script.at(-1) : undefined);
      if (entry === undefined) {
        throw new ModelCallError(
          'model_error',
          `The scripted model has no answer to call ${position + 1}: its script has ${script.length}. Add an entry, or pass {repeatLast: true}.`,
        );
      }
      return answer(entry, request, context, position);
    },
    assertUsedUp: () => {
      if (requests.length === script.length || (requests.length > script.length && options.repeatLast)) return;
      const times = requests.length === 1 ? 'once' : `${requests.length} times`;
      const entries = script.length === 1 ? '1 entry' : `${script.length} entries`;
      throw new Error(`The scripted model was called ${times}, but its script has ${entries}.`);
    },
  };
}

async function answer(entry: ScriptEntry, request: ModelRequest, context: ModelCallContext, position: number): Promise<ModelResponse> {
  context.signal.throwIfAborted();
  switch (entry.type) {
    case 'reply':
      return streamed(response(entry, identified(entry.calls, position)), entry, context);
    case 'structured':
      return structuredResponse(entry, request, context, position);
    case 'failure':
      throw new ModelCallError(entry.code, entry.message, { retryAfterMs: entry.retryAfterMs });
    case 'hang':
      await stream([{ type: 'text', text: entry.text }], AT_ONCE, context);
      return rejectedOnAbort(context.signal);
    case 'malformed':
      // The cast is wrong on purpose: the entry stands for a model client that returns something else.
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
  return streamed(response({ ...entry, text: asCall ? '' : JSON.stringify(entry.value) }, calls), { ...AT_ONCE, reasoning: '' }, context);
}

/** The pace of entries that set none. */
const AT_ONCE = { chunks: DEFAULT_CHUNKS, everyMs: 0 };

/** Streams an answer, and returns it. */
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

/** Returns arguments as a provider streams them. Those that no provider could send, such as too many levels, are not streamed. */
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

function response({ text, usage, finishReason, refusal }: ReplyFields, toolCalls: ModelResponse['toolCalls']): ModelResponse {
  return {
    content: text,
    toolCalls,
    usage,
    finishReason: finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    ...(refusal === undefined ? {} : { refusal }),
  };
}

/** Gives calls without an id one that names their position in the script, so that two runs of a script are equal. */
function identified(calls: { id?: string | undefined; name: string; arguments: unknown }[], position: number): ModelResponse['toolCalls'] {
  return calls.map((call, index) => ({ id: call.id ?? `call_${position + 1}_${index + 1}`, name: call.name, arguments: call.arguments }));
}

function rejectedOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** Reports each part of an answer in pieces. Rejects with the reason of the signal if it is aborted meanwhile. */
async function stream(parts: readonly ModelDelta[], { chunks, everyMs }: ScriptedPace, context: ModelCallContext): Promise<void> {
  const { onDelta, signal } = context;
  if (onDelta === undefined && everyMs === 0) return;
  for (const part of parts) {
    for (const text of pieces(part.text, chunks)) {
      onDelta?.({ ...part, text });
      if (everyMs > 0) await pause(everyMs, signal);
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
}
