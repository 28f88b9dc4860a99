import type { HostedCall, HostedTool, Source } from '../../../src/core/domain/content.ts';
import { defined, isJsonObject, isTooDeep, type JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelFile, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';
import { cleanJson } from '../../../src/model/parse-json.ts';
import { AnswerFault, isReportedError, ReportedFault } from '../errors/error-body.ts';
import { type AnswerListener, type AnswerPiece, normalFinishReason, tokenUsage } from './exchange.ts';

const IMAGE = 'image_generation_call';

/** Assembles an answer of the Responses API, from the events of a stream or from a whole response. */
export class ResponsesAnswer {
  readonly #listener: AnswerListener;
  readonly #items: unknown[] = [];
  /** The calls, by item id. */
  readonly #calls = new Map<unknown, Record<string, unknown>>();
  #streamedText = '';
  #response: Record<string, unknown> | undefined;

  constructor(listener: AnswerListener = {}) {
    this.#listener = listener;
  }

  /** True once the response has reached its last event. */
  get complete(): boolean {
    return this.#response !== undefined;
  }

  /** Processes a piece of the answer. Throws a `ReportedFault` if it says that the response failed. */
  take(piece: AnswerPiece): void {
    if (piece.type === 'end') return;
    if (Array.isArray(piece.data) && isReportedError(piece.data)) throw new ReportedFault(piece.data);
    if (!isJsonObject(piece.data)) return;
    const event = piece.data;
    switch (typeof event['type'] === 'string' ? event['type'] : '') {
      case 'response.output_text.delta':
        if (typeof event['delta'] === 'string') this.#takeText(event['delta']);
        break;
      case 'response.refusal.delta':
        this.#report('text', event['delta']);
        break;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#report('reasoning', event['delta']);
        break;
      case 'response.output_item.added':
        this.#begin(event['item']);
        break;
      case 'response.function_call_arguments.delta':
        this.#reportInput(this.#calls.get(event['item_id']), event['delta']);
        break;
      case 'response.output_item.done':
        this.#reportHosted(event['item']);
        this.#keep(event['item']);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#close(isJsonObject(event['response']) ? event['response'] : {});
        break;
      case 'error':
        throw new ReportedFault(event);
      default:
        this.#takeOther(event);
    }
  }

  /** Returns the whole answer. Throws an `AnswerFault` if it is cut off or empty. */
  response(): ModelResponse {
    if (this.#response === undefined) throw new AnswerFault('cut', 'the connection ended before the answer did');
    const output: unknown = this.#response['output'];
    const items = Array.isArray(output) && output.length > 0 ? output : this.#items;
    const objects = items.filter((item) => isJsonObject(item));
    this.#requireKnownCalls(objects);
    const toolCalls = objects.filter((item) => item['type'] === 'function_call').map(toolCall);
    requireDistinct(toolCalls);
    const refusal = messageText(objects, 'refusal', 'refusal');
    const content = messageText(objects, 'output_text', 'text') || this.#streamedText;
    const kept = opaqueEntries(objects, content);
    const sources = citedSources(objects);
    const hosted = hostedCalls(objects);
    const files = madeImages(objects);
    return {
      content,
      toolCalls,
      usage: tokenUsage(this.#response['usage']),
      finishReason: normalFinishReason(incompleteReason(this.#response), { toolCalls: toolCalls.length, refusal }),
      ...(refusal === '' ? {} : { refusal }),
      ...defined({ providerItems: kept }),
      ...(sources.length === 0 ? {} : { sources }),
      ...(hosted.length === 0 ? {} : { hosted }),
      ...(files.length === 0 ? {} : { files }),
    };
  }

  /** Keeps a finished item, once. */
  #keep(item: unknown): void {
    if (isJsonObject(item) && item['type'] === 'function_call') this.#calls.set(item['id'], item);
    const id = isJsonObject(item) && typeof item['id'] === 'string' ? item['id'] : undefined;
    const known = id === undefined ? -1 : this.#items.findIndex((one) => isJsonObject(one) && one['id'] === id);
    if (known < 0) this.#items.push(item);
    else this.#items[known] = item;
  }

  /** Throws if a call of the stream is missing at the end. */
  #requireKnownCalls(items: Record<string, unknown>[]): void {
    const isThere = (begun: Record<string, unknown>): boolean =>
      items.some((item) => item['id'] === begun['id'] || item['call_id'] === begun['call_id']);
    if (![...this.#calls.values()].every(isThere)) throw new AnswerFault('malformed', 'a tool call of the stream is missing at its end');
  }

  #takeText(delta: string): void {
    this.#streamedText += delta;
    this.#report('text', delta);
  }

  #report(type: 'text' | 'reasoning', text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#listener.onDelta?.({ type, text });
  }

  /** Reports the beginning of a call. The pieces of its arguments only name its item. */
  #begin(item: unknown): void {
    if (!isJsonObject(item) || item['type'] !== 'function_call') return;
    this.#calls.set(item['id'], item);
    this.#reportInput(item, '');
  }

  /** Reports a call that the provider made itself, once it is complete: its input does not arrive in pieces. */
  #reportHosted(item: unknown): void {
    const toolName = isJsonObject(item) ? hostedToolOf(item) : undefined;
    if (!isJsonObject(item) || toolName === undefined) return;
    const callId = typeof item['id'] === 'string' ? item['id'] : '';
    this.#listener.onDelta?.({ type: 'tool_input', callId, toolName, text: hostedInput(item), hosted: true });
  }

  #reportInput(item: Record<string, unknown> | undefined, text: unknown): void {
    const { call_id: id, name } = item ?? {};
    if (typeof text !== 'string') return;
    const call = { callId: typeof id === 'string' ? id : '', toolName: typeof name === 'string' ? name : '' };
    this.#listener.onDelta?.({ type: 'tool_input', ...call, text });
  }

  /** Processes a response that is not streamed, or an error in an undocumented shape. */
  #takeOther(body: Record<string, unknown>): void {
    if (!Array.isArray(body['output']) && isReportedError(body)) throw new ReportedFault(body);
    if (!Array.isArray(body['output'])) return;
    this.#close(body);
    const items = body['output'].filter((item) => isJsonObject(item));
    this.#report('text', messageText(items, 'output_text', 'text'));
    this.#report('text', messageText(items, 'refusal', 'refusal'));
    for (const item of items) {
      if (item['type'] === 'function_call') this.#reportInput(item, item['arguments']);
      else this.#reportHosted(item);
    }
  }

  #close(response: Record<string, unknown>): void {
    const { status, error } = response;
    const usage = tokenUsage(response['usage']);
    if (usage !== null) this.#listener.onUsage?.(usage);
    if (isJsonObject(error)) throw new ReportedFault(error);
    if (status === 'failed') throw new ReportedFault('the response failed without a reason');
    if (status === 'cancelled' || status === 'queued' || status === 'in_progress') {
      throw new AnswerFault('malformed', `the response ended with the status "${status}"`);
    }
    this.#response = response;
  }
}

function toolCall({ call_id: id, name, arguments: text }: Record<string, unknown>): RawToolCall {
  return { id, name, arguments: text };
}

/** Throws if two calls have the same id, name and arguments: the second may be a repetition or another call. */
function requireDistinct(calls: readonly RawToolCall[]): void {
  const named = calls.filter(({ id }) => id !== undefined);
  if (new Set(named.map(({ id }) => id)).size === named.length) return;
  const known = named.map(({ id, name, arguments: args }) => JSON.stringify([id, name, isTooDeep(args) ? null : args]));
  if (new Set(known).size < known.length) throw new AnswerFault('malformed', 'a tool call is in the answer twice');
}

/** Returns the sources that the texts of an answer cite, with their positions in the whole text. The run checks them. */
function citedSources(items: readonly Record<string, unknown>[]): Source[] {
  const sources: Source[] = [];
  let before = 0;
  for (const part of items.flatMap((item) => (item['type'] === 'message' ? listOf(item['content']) : []))) {
    if (part['type'] !== 'output_text' || typeof part['text'] !== 'string') continue;
    for (const { url, title, filename, start_index: start, end_index: end } of listOf(part['annotations'])) {
      const place = typeof start === 'number' && typeof end === 'number' ? { start: before + start, end: before + end } : {};
      sources.push({ url, title, filename, ...place } as Source);
    }
    before += part['text'].length;
  }
  return sources;
}

function madeImages(items: readonly Record<string, unknown>[]): ModelFile[] {
  return items.flatMap(({ type, result, output_format: format }): ModelFile[] => {
    if (type !== IMAGE || typeof result !== 'string' || result === '') return [];
    return [{ mediaType: `image/${typeof format === 'string' ? format : 'png'}`, data: result }];
  });
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

function messageText(items: Record<string, unknown>[], type: string, field: string): string {
  const parts = items.flatMap((item): unknown[] => (item['type'] === 'message' && Array.isArray(item['content']) ? item['content'] : []));
  return parts.map((part) => (isJsonObject(part) && part['type'] === type && typeof part[field] === 'string' ? part[field] : '')).join('');
}

/**
 * Returns the items that the provider expects back, with the positions of the text and the calls between them, or undefined. These are
 * items with encrypted content, because any other item is only an id that the provider does not store, and calls that the provider made
 * itself. Images are left out of requests, and so is the reasoning that led to them, which would be refused alone.
 */
function opaqueEntries(items: readonly Record<string, unknown>[], text: string): JsonValue[] | undefined {
  const entries: JsonValue[] = [];
  let calls = 0;
  let hasText = text.trim() === '';
  for (const [index, item] of items.entries()) {
    const isSentBack =
      typeof item['encrypted_content'] === 'string'
        ? items[index + 1]?.['type'] !== IMAGE
        : hostedToolOf(item) !== undefined && item['type'] !== IMAGE;
    const clean = isSentBack ? cleanJson(item) : undefined;
    if (clean !== undefined) entries.push({ t: 'item', item: clean });
    else if (item['type'] === 'function_call') entries.push({ t: 'call', i: calls++ });
    else if (item['type'] === 'message' && !hasText) {
      hasText = true;
      entries.push({ t: 'text' });
    }
  }
  if (!hasText) entries.push({ t: 'text' });
  return entries.some((entry) => isJsonObject(entry) && entry['t'] === 'item') ? entries : undefined;
}

function incompleteReason({ status, incomplete_details: details }: Record<string, unknown>): string | undefined {
  if (isJsonObject(details) && typeof details['reason'] === 'string') return details['reason'];
  return status === 'incomplete' ? 'incomplete' : undefined;
}

/** The hosted tools of the Responses API by the `type` of their calls. */
const TOOL_OF_ITEM: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
};

/** The default arguments that each tool needs. */
const DEFAULT_ARGS: Readonly<Record<string, object>> = {
  web_search: {},
  web_search_preview: {},
  file_search: {},
  code_interpreter: { container: { type: 'auto' } },
  image_generation: {},
};

/** Returns the id of the first tool that the API lacks, or undefined. */
export function unknownTool(hosted: readonly HostedTool[] = [], api: 'chat' | 'responses'): string | undefined {
  return hosted.find(({ id }) => api === 'chat' || !id.startsWith('openai.') || !Object.hasOwn(DEFAULT_ARGS, typeOf(id)))?.id;
}

function typeOf(id: string): string {
  return id.slice('openai.'.length);
}

/** Returns a hosted tool in the format of the Responses API. */
export function responsesTool({ id, args }: HostedTool): Record<string, unknown> {
  const type = typeOf(id);
  return { type, ...DEFAULT_ARGS[type], ...args };
}

/** Returns the name of a hosted call's tool; undefined for any other item. */
function hostedToolOf(item: Readonly<Record<string, unknown>>): string | undefined {
  const type = item['type'];
  return typeof type === 'string' && Object.hasOwn(TOOL_OF_ITEM, type) ? TOOL_OF_ITEM[type] : undefined;
}

/** Returns the part of a hosted call's input that the API shows, as JSON. */
export function hostedInput({ action, queries, code, revised_prompt: prompt }: Readonly<Record<string, unknown>>): string {
  if (action !== undefined && action !== null) return JSON.stringify(action);
  const shown = { ...(queries ? { queries } : {}), ...(code ? { code } : {}), ...(prompt ? { prompt } : {}) };
  return Object.keys(shown).length === 0 ? '' : JSON.stringify(shown);
}

/** Returns the hosted calls among the items of an answer. */
function hostedCalls(items: readonly Readonly<Record<string, unknown>>[]): HostedCall[] {
  return items.flatMap((item): HostedCall[] => {
    const name = hostedToolOf(item);
    if (name === undefined) return [];
    const input = hostedInput(item);
    const failed = item['status'] === 'failed' || item['status'] === 'incomplete';
    return [{ name, ...(input === '' ? {} : { input }), ...(failed ? { isError: true } : {}) }];
  });
}
