import { PAUSED, type Source } from '../../../src/core/domain/content.ts';
import { defined, isJsonObject, type JsonObject, parsedJson } from '../../../src/core/domain/json.ts';
import type { ModelCallContext, ModelFile, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';
import type { FinishReason } from '../../../src/core/domain/tool-calls.ts';
import type { UsageStats } from '../../../src/core/domain/usage.ts';
import { finishFault, finishReasonOf } from '../../../src/model/answer-text.ts';
import { AnswerFault, ReportedFault } from '../errors/error-body.ts';
import { reportedCost } from '../openai/exchange.ts';
import { textIn } from '../openai/message-order.ts';
import { hostedCalls } from './hosted-tools.ts';
import type { AiSdkModel, ProviderMetadata, StreamPart } from './language-model.ts';
import { type Entry, recordedLayout } from './layout.ts';

/** The AI SDK's finish reasons that end an answer. Others mean that it is incomplete, or defer to the provider's own reason. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
};

/** Parts that describe the answer, and that their provider does not accept back. */
const NOT_SENT_BACK: readonly unknown[] = ['anthropic.message_start'];

/** A text, or a piece of reasoning. */
type TextEntry = Extract<Entry, { text: string }>;

/** The maximum base64 characters of the files of one answer's reasoning: with its signatures they are stored as one content. */
const MOST_REASONING_CHARACTERS = 3_500_000;

/** The part of the context that an answer needs. It has `readFile` if the worker has a payload store. */
type AnswerContext = Pick<ModelCallContext, 'onDelta' | 'onUsage' | 'readFile'>;

/** Assembles an answer from the parts of its stream. */
export class StreamAnswer {
  readonly #context: AnswerContext;
  readonly #needsWord: boolean;
  readonly #layout: Entry[] = [];
  /** The open texts and pieces of reasoning, by kind and id. */
  readonly #open = new Map<string, TextEntry>();
  readonly #calls: RawToolCall[] = [];
  /** The calls whose arguments are arriving in pieces, by id. */
  readonly #begun = new Map<string, { toolName: string; hosted?: true }>();
  readonly #warnings: string[] = [];
  /** The sources so far, with the text that cites them. */
  readonly #sources: { source: unknown; of?: TextEntry }[] = [];
  readonly #files: ModelFile[] = [];
  #usage: UsageStats | null = null;
  #finishReason: FinishReason | undefined;

  /** `needsWord`: an end without the provider's own reason is a broken connection. */
  constructor(context: AnswerContext, { needsWord }: { needsWord: boolean }) {
    this.#context = context;
    this.#needsWord = needsWord;
  }

  /** True once the answer has ended: later parts do not belong to it. */
  get isComplete(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Processes a part. Throws for a part that reports an error, and for an end without a known reason. */
  take(part: StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#piece(part);
        return;
      case 'text-delta':
      case 'text-end':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#addTo(this.#piece(part), part);
        return;
      case 'source':
        this.#sources.push({ source: part });
        return;
      case 'tool-input-start':
      case 'tool-input-delta':
        this.#takeInput(part);
        return;
      case 'tool-call':
        this.#takeCall(part);
        return;
      case 'tool-result':
      case 'custom':
        this.#takeHosted(part);
        return;
      case 'file':
        this.#takeFile(part);
        return;
      case 'reasoning-file':
        this.#takeReasoningFile(part);
        return;
      case 'stream-start':
        if (Array.isArray(part.warnings)) this.#warnings.push(...part.warnings.map(warningText));
        return;
      case 'finish':
        this.#finish(part);
        return;
      case 'error':
        throw part.error instanceof Error ? part.error : new ReportedFault(part.error);
      default:
        // Raw chunks, pings, and additions of later versions of the specification.
        return;
    }
  }

  /** Returns the answer. Throws if it has not ended. */
  response(): ModelResponse {
    if (this.#finishReason === undefined) throw notWhole();
    const hosted = hostedCalls(this.#layout);
    return {
      content: this.#layout.map((entry) => (entry.t === 'text' ? entry.text : '')).join(''),
      toolCalls: this.#calls,
      usage: this.#usage,
      finishReason: this.#finishReason,
      ...defined({ providerItems: recordedLayout(this.#layout) }),
      ...(this.#warnings.length === 0 ? {} : { warnings: this.#warnings }),
      ...(hosted.length === 0 ? {} : { hosted }),
      ...(this.#files.length === 0 ? {} : { files: this.#files }),
      ...(this.#sources.length === 0 ? {} : { sources: this.#sources.map((one) => this.#placed(one)) }),
    };
  }

  /** Returns a source with its position in the whole text. The run checks it. */
  #placed({ source, of }: { source: unknown; of?: TextEntry }): Source {
    const { source: cited, startIndex, endIndex, ...part } = isJsonObject(source) ? source : ({} as JsonObject);
    const { url, title, mediaType, filename } = of === undefined || !isJsonObject(cited) ? part : cited;
    const named = { url, title, mediaType, filename } as Source;
    if (of === undefined || typeof startIndex !== 'number' || typeof endIndex !== 'number') return named;
    const texts = this.#layout.slice(0, this.#layout.indexOf(of)).map((entry) => (entry.t === 'text' ? entry.text.length : 0));
    const before = texts.reduce((sum, length) => sum + length, 0);
    return { ...named, start: before + startIndex, end: before + endIndex };
  }

  /** Returns the text or the reasoning that a part belongs to. It begins with its first part, of any type. */
  #piece({ type, id, providerMetadata }: StreamPart): TextEntry {
    const t = type.startsWith('text') ? 'text' : 'reasoning';
    const key = `${t} ${textIn(id)}`;
    const known = type.endsWith('-start') ? undefined : this.#open.get(key);
    if (known !== undefined) return known;
    const entry: TextEntry = { t, text: '', ...metadata(providerMetadata) };
    this.#open.set(key, entry);
    this.#layout.push(entry);
    return entry;
  }

  #addTo(entry: TextEntry, { delta, providerMetadata, citations }: StreamPart): void {
    if (Array.isArray(citations)) this.#sources.push(...citations.map((source: unknown) => ({ source, of: entry })));
    const { m } = metadata(providerMetadata);
    for (const [provider, more] of Object.entries(m ?? {})) entry.m = { ...entry.m, [provider]: { ...entry.m?.[provider], ...more } };
    if (typeof delta !== 'string' || delta === '') return;
    entry.text += delta;
    this.#context.onDelta?.({ type: entry.t, text: delta });
  }

  #takeInput({ type, id, toolName, delta, providerExecuted }: StreamPart): void {
    const callId = textIn(id);
    if (type === 'tool-input-start') this.#begun.set(callId, { toolName: textIn(toolName), ...hostedMark(providerExecuted) });
    const call = this.#begun.get(callId);
    const text = type === 'tool-input-start' ? '' : delta;
    if (call !== undefined && typeof text === 'string') this.#context.onDelta?.({ type: 'tool_input', callId, ...call, text });
  }

  #takeCall({ toolCallId, toolName, input, providerExecuted, providerMetadata }: StreamPart): void {
    const id = textIn(toolCallId);
    const name = textIn(toolName);
    const isNew = !this.#begun.has(id);
    const mark = hostedMark(providerExecuted);
    if (isNew && typeof input === 'string')
      this.#context.onDelta?.({ type: 'tool_input', callId: id, toolName: name, text: input, ...mark });
    if (providerExecuted === true) {
      const value = typeof input === 'string' ? (parsedJson(input) ?? input) : input;
      this.#layout.push({ t: 'hosted-call', id, name, input: value, ...metadata(providerMetadata) });
      return;
    }
    this.#layout.push({ t: 'call', i: this.#calls.length, ...metadata(providerMetadata) });
    this.#calls.push({ id: toolCallId, name: toolName, arguments: input });
  }

  #takeHosted({ type, toolCallId, toolName, result, isError, preliminary, kind, providerMetadata }: StreamPart): void {
    const m = metadata(providerMetadata);
    if (type === 'custom' && !NOT_SENT_BACK.includes(kind)) this.#layout.push({ t: 'custom', kind: textIn(kind), ...m });
    if (type === 'custom' || preliminary === true) return;
    const failed = isError === true ? { isError: true as const } : {};
    const output = this.#withoutImage(toolName, result);
    this.#layout.push({ t: 'hosted-result', id: textIn(toolCallId), name: textIn(toolName), output, ...failed, ...m });
  }

  /**
   * Returns the result of a hosted tool. An image in it becomes a file of the answer, because it is too large to be sent with every
   * request.
   */
  #withoutImage(toolName: unknown, result: unknown): unknown {
    if (toolName !== 'image_generation' || !isJsonObject(result) || typeof result['result'] !== 'string') return result;
    this.#files.push({ mediaType: 'image/png', data: result['result'] });
    return { ...result, result: '' };
  }

  /** Keeps a file that is a part of the message. */
  #takeFile(part: StreamPart): void {
    const file = fileIn(part);
    if (file === undefined) return this.#leaveOut(part, 'it has no data');
    this.#layout.push({ t: 'file', i: this.#files.length, ...metadata(part.providerMetadata) });
    this.#files.push(file);
  }

  /** Keeps a file of the reasoning with the other items that only its provider reads, if the worker can store it. */
  #takeReasoningFile(part: StreamPart): void {
    const file = fileIn(part);
    if (file === undefined) return this.#leaveOut(part, 'it has no data');
    if (this.#context.readFile === undefined)
      return this.#leaveOut(part, 'it belongs to its reasoning, and the worker has no payload store');
    const kept = this.#layout.reduce((sum, entry) => sum + (entry.t === 'reasoning-file' ? entry.data.length : 0), 0);
    if (kept + file.data.length > MOST_REASONING_CHARACTERS) return this.#leaveOut(part, 'its reasoning has too many');
    this.#layout.push({ t: 'reasoning-file', ...file, ...metadata(part.providerMetadata) });
  }

  #leaveOut({ mediaType }: StreamPart, why: string): void {
    this.#warnings.push(`A file of the model (${textIn(mediaType).slice(0, 100)}) was left out: ${why}`);
  }

  #finish({ finishReason, usage, providerMetadata }: StreamPart): void {
    this.#usage = usageOf(usage, providerMetadata);
    if (this.#usage !== null) this.#context.onUsage?.(this.#usage);
    const { unified, raw } = isJsonObject(finishReason) ? finishReason : { unified: finishReason, raw: undefined };
    const word = typeof raw === 'string' && raw !== '' ? raw : undefined;
    const isFault = word !== undefined && (finishFault(word) !== undefined || finishReasonOf(word) === 'refusal');
    // Anthropic pauses between calls that it makes itself, which its package takes for an end.
    const reason = isFault || word === PAUSED ? word : (FINISH_REASONS[textIn(unified)] ?? word);
    // These are the packages' ends for a broken connection.
    if (unified === 'interrupted' || reason === undefined) throw notWhole();
    if (word === undefined && this.#needsWord && !isOfResponses(providerMetadata))
      throw notWhole("its finish has no reason in the provider's own words (raw)");
    this.#finishReason = unified === 'error' && !isFault ? 'error' : reason;
  }
}

/** Returns the error for an answer that has ended too soon. */
export function notWhole(why?: string): AnswerFault {
  return new AnswerFault('cut', `the answer ended before it was complete${why === undefined ? '' : `: ${why}`}`);
}

/**
 * True for providers whose packages report the provider's own finish reason. OpenAI's Responses has none for an ordinary end, and a gateway
 * may not pass it on.
 */
export function reportsFinishWord({ provider }: Pick<AiSdkModel, 'provider'>): boolean {
  return !/(?:^|[.-])responses$|^gateway(?:\.|$)/.test(provider);
}

/** True for a finish of OpenAI's Responses, whatever its provider's name: it has the response id. */
function isOfResponses(providerMetadata: unknown): boolean {
  if (!isJsonObject(providerMetadata)) return false;
  return ['openai', 'azure'].some((name) => {
    const of = providerMetadata[name];
    return isJsonObject(of) && typeof of['responseId'] === 'string';
  });
}

/** Returns a file from its data, whose form differs between the specifications; undefined without data. */
function fileIn({ mediaType, data: given }: StreamPart): ModelFile | undefined {
  const data = isJsonObject(given) && !(given instanceof Uint8Array) ? given['data'] : given;
  const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data;
  return typeof mediaType !== 'string' || typeof base64 !== 'string' || base64 === '' ? undefined : { mediaType, data: base64 };
}

function hostedMark(providerExecuted: unknown): { hosted?: true } {
  return providerExecuted === true ? { hosted: true } : {};
}

/** Returns the metadata of a part, as a field of its entry. */
function metadata(given: unknown): { m?: ProviderMetadata } {
  if (!isJsonObject(given)) return {};
  const named = Object.entries(given).filter(([, value]) => isJsonObject(value) && Object.keys(value).length > 0);
  return named.length === 0 ? {} : { m: Object.fromEntries(named) as ProviderMetadata };
}

/** Returns a text about an ignored or replaced part of a request. */
function warningText(given: unknown): string {
  const { type, feature, setting, details, message } = isJsonObject(given) ? given : {};
  const texts = [feature ?? setting ?? (message === undefined ? type : undefined), details ?? message];
  const said = texts
    .map(textIn)
    .filter((text) => text !== '')
    .join(': ');
  return type === 'unsupported' && details === undefined ? `${said} is not supported` : said || 'a warning without a text';
}

function usageOf(given: unknown, providerMetadata: unknown): UsageStats | null {
  const { inputTokens, outputTokens, raw } = isJsonObject(given) ? given : {};
  const input = isJsonObject(inputTokens) ? inputTokens : {};
  const output = isJsonObject(outputTokens) ? outputTokens : {};
  const promptTokens = count(input['total']);
  const completionTokens = count(output['total']);
  if (promptTokens === undefined && completionTokens === undefined) return null;
  const [prompt, completion] = [promptTokens ?? 0, completionTokens ?? 0];
  const cachedTokens = count(input['cacheRead']) || undefined;
  const cacheWriteTokens = count(input['cacheWrite']) || undefined;
  const reasoningTokens = count(output['reasoning']) || undefined;
  return {
    promptTokens: prompt,
    completionTokens: completion,
    totalTokens: prompt + completion,
    ...defined({ cachedTokens, cacheWriteTokens, reasoningTokens }),
    ...costIn([raw, ...metadataOf(providerMetadata)]),
  };
}

/** Returns the metadata of each provider, and their usage. */
function metadataOf(providerMetadata: unknown): unknown[] {
  const all: unknown[] = isJsonObject(providerMetadata) ? Object.values(providerMetadata) : [];
  return all.flatMap((one) => (isJsonObject(one) ? [one, one['usage']] : []));
}

/** Returns the cost of the call in US dollars, if one of the places reports it: OpenRouter, Perplexity and Vercel's gateway do. */
function costIn(places: readonly unknown[]): ReturnType<typeof reportedCost> {
  const costs = places.map((place) => reportedCost(isJsonObject(place) ? place['cost'] : undefined));
  return costs.find((cost) => Object.keys(cost).length > 0) ?? {};
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
