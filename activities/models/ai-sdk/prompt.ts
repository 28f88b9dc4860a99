import {
  type ContentItem,
  type ContentPart,
  type Message,
  type ToolCall,
  type ToolResult,
  writtenText,
} from '../../../src/core/domain/content.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import { defined, isJsonObject, type JsonObject } from '../../../src/core/domain/json.ts';
import type { ConversationEvent, ModelRequest } from '../../../src/core/domain/model.ts';
import { functionName, placeholder, plainText, partsBeside, toolOutputText } from '../openai/chat-messages.ts';
import { CallIds } from '../openai/message-order.ts';
import { providerTool } from './hosted-tools.ts';
import type { AssistantPart, CallOptions, PromptMessage, ProviderMetadata, UserPart } from './language-model.ts';
import { filesIn, restoredParts, type ShowCall, type ShowFile } from './layout.ts';

/** The facts about a model that its request depends on. */
interface ModelFacts {
  isV4: boolean;
  /** The name of its provider, such as `anthropic.messages`. */
  provider: string;
  modelId: string;
  /** The URLs that the provider fetches itself, by media type. */
  urls: Record<string, RegExp[]>;
  /** Absent: the request has no cache marks. */
  cacheMarks?: CacheMarks | undefined;
  /** The data of the model's files, by digest. Missing files are not sent. */
  files?: ReadonlyMap<string, string> | undefined;
  /** A text shared by the calls of a run, for a provider that routes by it. Absent: none. */
  cacheKey?: string | undefined;
}

/** The options of messages that end a cached part of the request. */
export interface CacheMarks {
  /** At the end of the instructions, and of the request before the last answer. */
  stable: ProviderMetadata;
  /** At the end of the request. */
  moving: ProviderMetadata;
}

/** A request, and warnings about omitted parts. */
export interface BuiltRequest {
  options: CallOptions;
  warnings: string[];
}

/**
 * Builds a request only from the run's request, so that every worker builds the same. Throws a `ModelCallError` for content that the model
 * does not accept.
 */
export function buildCall(request: ModelRequest, facts: ModelFacts): BuiltRequest {
  const { tools, hosted = [], output, settings } = request;
  const { temperature, maxOutputTokens, reasoningEffort, parallelToolCalls, extra, toolChoice } = settings;
  if (reasoningEffort !== undefined && !facts.isV4) {
    throw new ModelCallError(
      'model_bad_request',
      `Model "${request.model}" takes no "reasoningEffort": its package has specification v3. Install a package with v4, or set the provider's own option in "settings.extra"`,
    );
  }
  const wrong = Object.entries(extra ?? {}).find(([, value]) => !isJsonObject(value));
  if (wrong !== undefined) {
    throw new ModelCallError(
      'model_bad_request',
      `"settings.extra.${wrong[0]}" for model "${request.model}" is not an object: the AI SDK expects options under the name of their provider, such as { anthropic: { … } }`,
    );
  }
  const choice = typeof toolChoice === 'object' ? { type: 'tool', toolName: toolChoice.tool } : { type: toolChoice };
  const options: CallOptions = {
    prompt: new PromptBuilder(request, facts).messages(),
    ...defined({ temperature, maxOutputTokens, reasoning: reasoningEffort, providerOptions: providerOptions(extra, facts) }),
    ...(tools.length + hosted.length === 0 ? {} : { tools: [...tools.map(functionTool), ...hosted.map(providerTool)] }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { toolChoice: choice }),
    ...(output === undefined ? {} : { responseFormat: { type: 'json', name: output.name, schema: output.schema } }),
  };
  const ignored = parallelToolCalls === undefined ? [] : ['parallelToolCalls: the AI SDK has no such setting. Use "settings.extra"'];
  return { options, warnings: ignored };
}

/**
 * Returns the options of a provider. The Responses API stores nothing: the history of the run is the only state, so its package must not
 * refer to items stored by OpenAI.
 */
function providerOptions(extra: JsonObject | undefined, { provider, cacheKey }: ModelFacts): JsonObject | undefined {
  const [name = '', api] = provider.split('.');
  if (api !== 'responses' || (name !== 'openai' && name !== 'azure')) return extra;
  const given = extra?.[name];
  return { ...extra, [name]: { store: false, ...defined({ promptCacheKey: cacheKey }), ...(isJsonObject(given) ? given : {}) } };
}

function functionTool({ name, description, parameters, strict }: ModelRequest['tools'][number]): object {
  return { type: 'function', name, description, inputSchema: parameters, ...(strict ? { strict } : {}) };
}

const NO_TEXT = '(no text)';
const NO_OUTPUT = '(no output)';
const FIRST = '(The conversation continues.)';
const AFTER_TOOL = 'OK.';

/** Builds the messages of one request. */
class PromptBuilder {
  readonly #request: ModelRequest;
  readonly #facts: ModelFacts;
  readonly #messages: PromptMessage[] = [];
  readonly #ids: CallIds;
  readonly #isMistral: boolean;
  /** The number of messages before the current event. */
  #begins = 0;
  /** The notes of the last results, and their media. A user message with them follows. */
  #beside: ContentPart[] = [];
  /** The calls that are sent as text, by their id. */
  readonly #asText = new Map<string, string>();

  constructor(request: ModelRequest, facts: ModelFacts) {
    this.#request = request;
    this.#facts = facts;
    this.#isMistral = facts.provider.startsWith('mistral');
    this.#ids = new CallIds(this.#isMistral ? 'nine' : 'safe');
  }

  messages(): PromptMessage[] {
    const { instructions, conversation } = this.#request;
    for (const text of instructions) if (text.trim() !== '') this.#messages.push({ role: 'system', content: text.toWellFormed() });
    const instructed = this.#messages.at(-1);
    const bare = bareAnswers(conversation, this.#request, this.#facts);
    // The request before the last answer ended here, and is cached: beyond 20 blocks, a provider would not find it.
    let before: PromptMessage | undefined;
    for (const event of conversation) {
      if (event.content.some(isOfAnswer)) {
        this.#sendBeside();
        before = this.#messages.at(-1);
      }
      this.#begins = this.#messages.length;
      const restored = bare.has(event) ? undefined : restoredParts(event, this.#showCall, this.#showFile);
      if (restored === undefined) for (const item of event.content) this.#add(item, bare.has(event));
      else this.#push({ role: 'assistant', content: restored.filter(({ type }) => this.#facts.isV4 || type !== 'reasoning-file') });
    }
    this.#sendBeside();
    const first = this.#messages.findIndex(({ role }) => role !== 'system');
    // Several providers accept no conversation that begins with an answer.
    if (this.#messages[first]?.role === 'assistant')
      this.#messages.splice(first, 0, { role: 'user', content: [{ type: 'text', text: FIRST }] });
    const { cacheMarks } = this.#facts;
    if (cacheMarks === undefined) return this.#messages;
    const last = this.#messages.at(-1);
    return this.#messages.map((message) => {
      if (message !== instructed && message !== before && message !== last) return message;
      return { ...message, providerOptions: message === last ? cacheMarks.moving : cacheMarks.stable };
    });
  }

  readonly #showCall: ShowCall = ({ toolCallId, name, arguments: input }, options) => ({
    type: 'tool-call',
    toolCallId: this.#ids.ofCall(toolCallId),
    toolName: functionName(name),
    input,
    ...options,
  });

  readonly #showFile: ShowFile = ({ spilled, mediaType = 'image/png' }, options) => {
    const data = this.#facts.files?.get(spilled?.sha256 ?? '');
    return data === undefined ? undefined : { type: 'file', mediaType, data: this.#facts.isV4 ? { type: 'data', data } : data, ...options };
  };

  #add(item: ContentItem, asText: boolean): void {
    if (item.type === 'tool_result') return this.#addResult(item);
    if (item.type === 'tool_call') return asText ? this.#addCallAsText(item) : this.#addToAnswer(this.#showCall(item, {}));
    const { role, content } = item;
    const text = plainText(content);
    // Several providers only accept system messages at the beginning.
    if (role === 'system') return text.trim() === '' ? undefined : this.#push({ role: 'user', content: [{ type: 'text', text }] });
    if (role === 'assistant') return this.#addAnswer(item);
    const parts = typeof content === 'string' || content.length === 0 ? [{ type: 'text' as const, text }] : this.#userParts(content);
    const filled = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '');
    this.#push({ role: 'user', content: filled.length === 0 ? [{ type: 'text', text: NO_TEXT }] : filled });
  }

  /** Adds a text of the model, with its files whose data is known. */
  #addAnswer(item: Message): void {
    const files = filesIn([item]).flatMap((file) => this.#showFile(file, {}) ?? []);
    const text = files.length === 0 ? plainText(item.content) : writtenText(item.content).toWellFormed();
    const said: AssistantPart[] = text.trim() === '' ? [] : [{ type: 'text', text }];
    if (said.length + files.length > 0) this.#push({ role: 'assistant', content: [...said, ...files] });
  }

  /** Adds a part to the answer of the current event, or to a new one. */
  #addToAnswer(part: AssistantPart): void {
    const last = this.#messages.at(-1);
    if (last?.role === 'assistant' && this.#messages.length > this.#begins) last.content.push(part);
    else this.#push({ role: 'assistant', content: [part] });
  }

  #addResult(result: ToolResult): void {
    const { toolCallId, name, status } = result;
    const text = toolOutputText(result);
    const value = text.trim() === '' ? NO_OUTPUT : text;
    const asked = this.#asText.get(toolCallId);
    if (asked !== undefined) this.#push({ role: 'user', content: [{ type: 'text', text: `[${asked} returned: ${value}]` }] });
    else {
      const output = { type: status === 'error' ? ('error-text' as const) : ('text' as const), value };
      const part = { type: 'tool-result' as const, toolCallId: this.#ids.ofResult(toolCallId), toolName: functionName(name), output };
      const last = this.#messages.at(-1);
      if (last?.role === 'tool') last.content.push(part);
      else this.#messages.push({ role: 'tool', content: [part] });
    }
    this.#beside.push(...partsBeside(result));
  }

  #addCallAsText({ toolCallId, name, arguments: input }: ToolCall): void {
    this.#asText.set(toolCallId, functionName(name));
    this.#addToAnswer({ type: 'text', text: `[${functionName(name)} was called with ${JSON.stringify(input)}]` });
  }

  #push(message: PromptMessage): void {
    this.#sendBeside();
    if (message.role === 'user') this.#answerTool();
    this.#messages.push(message);
  }

  #sendBeside(): void {
    const beside = this.#beside;
    this.#beside = [];
    if (beside.length === 0) return;
    this.#answerTool();
    this.#messages.push({ role: 'user', content: this.#userParts(beside) });
  }

  /** Mistral accepts no user message right after results. */
  #answerTool(): void {
    if (!this.#isMistral || this.#messages.at(-1)?.role !== 'tool') return;
    this.#messages.push({ role: 'assistant', content: [{ type: 'text', text: AFTER_TOOL }] });
  }

  #userParts(content: readonly ContentPart[]): UserPart[] {
    return content.map((part) => {
      const data = part.type === 'text' ? undefined : this.#fileData(part);
      if (part.type === 'text' || data === undefined) return { type: 'text', text: placeholder(part).toWellFormed() };
      return { type: 'file', ...data, ...(part.type === 'file' && part.name !== undefined ? { filename: part.name } : {}) };
    });
  }

  /** Returns the data of a part in the specification's format; undefined if it has none. A URL is never fetched. */
  #fileData(part: Exclude<ContentPart, { type: 'text' }>): { mediaType: string; data: unknown } | undefined {
    const { isV4, urls } = this.#facts;
    const [, typeOfUrl, dataOfUrl] = /^data:([^;,]*);base64,(.*)$/s.exec(part.url ?? '') ?? [];
    const data = dataOfUrl ?? part.data;
    const mediaType = part.mediaType ?? (typeOfUrl || (data === undefined ? undefined : mediaTypeOf(data)) || DEFAULT_TYPES[part.type]);
    if (data !== undefined) return { mediaType, data: isV4 ? { type: 'data', data } : data };
    if (part.url === undefined) return undefined;
    const url = URL.parse(part.url);
    if (url === null || !isTaken(urls, mediaType, url.href)) {
      const shown = part.url.slice(0, 200);
      throw new ModelCallError(
        'model_bad_request',
        `Provider "${this.#facts.provider}" of model "${this.#request.model}" does not read ${mediaType} from the URL "${shown}", and Longhaul fetches none: pass it as "data"`,
      );
    }
    return { mediaType, data: isV4 ? { type: 'url', url } : url };
  }
}

/** True for an item that a model gave. */
function isOfAnswer(item: ContentItem): boolean {
  return item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant');
}

/** The media types of parts without one. */
const DEFAULT_TYPES = { image: 'image/*', audio: 'audio/mpeg', video: 'video/mp4', file: 'application/pdf' };

/** The base64 prefixes that identify a media type. */
const SIGNATURES: readonly (readonly [beginning: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
];

function mediaTypeOf(data: string): string | undefined {
  return SIGNATURES.find(([beginning]) => data.startsWith(beginning))?.[1];
}

/** True if a provider fetches the URL itself. Only regular expressions of a package count. */
function isTaken(urls: unknown, mediaType: string, url: string): boolean {
  const lower = url.toLowerCase();
  const known = isJsonObject(urls) ? Object.entries(urls as Record<string, unknown>) : [];
  const expressions = known.map(([type, patterns]): [string, RegExp[]] => [
    type,
    Array.isArray(patterns) ? patterns.filter((one) => one instanceof RegExp) : [],
  ]);
  return expressions.some(([type, patterns]) => {
    const isOfType = type === '*' || mediaType.toLowerCase().startsWith(type.replace(/\*.*$/, '').toLowerCase());
    return isOfType && patterns.some((pattern) => new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).test(lower));
  });
}

/**
 * Returns the answers of the current turn whose calls are sent as text: while it thinks, Claude accepts no call without the reasoning that
 * led to it, and these answers' reasoning is lost, or another model made them.
 */
function bareAnswers(conversation: readonly ConversationEvent[], { settings }: ModelRequest, facts: ModelFacts): Set<ConversationEvent> {
  const bare = new Set<ConversationEvent>();
  if (!/anthropic|claude/i.test(`${facts.provider} ${facts.modelId}`)) return bare;
  const mustThink = Object.values(settings.extra ?? {}).some(isThinking);
  const isOfUser = ({ content }: ConversationEvent): boolean =>
    content.some((item) => item.type === 'message' && item.role !== 'assistant');
  let hasThought = false;
  for (const event of conversation.slice(conversation.findLastIndex(isOfUser) + 1)) {
    const restored = restoredParts(event, () => ({ type: 'text', text: '' }));
    hasThought ||= restored?.some(({ type }) => type === 'reasoning') ?? false;
    const isLost = event.lostItems === true || (event.providerItems !== undefined && restored === undefined);
    if ((isLost || (mustThink && !hasThought)) && event.content.some(({ type }) => type === 'tool_call')) bare.add(event);
  }
  return bare;
}

/** True for provider options that make the model think before each first call. */
function isThinking(options: unknown): boolean {
  const { thinking, reasoningConfig } = isJsonObject(options) ? options : ({} as JsonObject);
  return [thinking, reasoningConfig].some((one) => isJsonObject(one) && one['type'] === 'enabled');
}
