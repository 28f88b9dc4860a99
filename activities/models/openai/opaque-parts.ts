import { textIn } from './message-order.ts';
import { createHash } from 'node:crypto';
import { type ContentItem, writtenText } from '../../../src/core/domain/content.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { cleanJson } from '../../../src/model/parse-json.ts';
import type { ConversationEvent, ModelResponse } from '../../../src/core/domain/model.ts';

/*
 * The parts that a provider sends with an answer's content and expects back in the next request: reasoning, its signatures, encrypted
 * items. An answer keeps them in order of arrival, with the positions of its text and its calls:
 *
 *   {t: 'message', …}        fields of the message (Chat Completions)
 *   {t: 'item', item: {…}}   a separate item (Responses)
 *   {t: 'text'}              the text of the answer
 *   {t: 'call', i: 0, …}     a call by its index, with the fields that the provider put on it
 *
 * A call is named by its index, because a request may give it another id.
 */

/** How to combine the pieces of a field: texts are joined, the last value counts, or lists and objects are merged. */
type Pieces = 'text' | 'last' | 'merged';

/** The opaque fields of a message, with the servers that send them. A provider's oddity is one row. */
const MESSAGE_FIELDS: Readonly<Record<string, Pieces>> = {
  // DeepSeek, Kimi, Qwen, GLM, xAI, llama.cpp, LiteLLM.
  reasoning_content: 'text',
  // OpenRouter, Groq, Ollama, newer releases of vLLM.
  reasoning: 'text',
  // OpenRouter, MiniMax.
  reasoning_details: 'merged',
  // LiteLLM for Anthropic and Bedrock.
  thinking_blocks: 'merged',
  // Gemini: `google.thought_signature`.
  extra_content: 'merged',
  // GitHub Copilot.
  reasoning_text: 'text',
  reasoning_opaque: 'last',
  // xAI.
  encrypted_content: 'last',
  // Gateways in front of Anthropic and Gemini.
  reasoning_signature: 'last',
  signature: 'last',
  thought_signature: 'last',
  // LiteLLM. Its remainder repeats other fields.
  provider_specific_fields: 'merged',
};

/** The same for a call, or for the `function` in it. */
const CALL_FIELDS: Readonly<Record<string, Pieces>> = {
  extra_content: 'merged',
  provider_specific_fields: 'merged',
  thought_signature: 'last',
  thoughtSignature: 'last',
  signature: 'last',
  encrypted_content: 'last',
};

/** The names of all fields that are not part of the API. */
export const OPAQUE_MESSAGE_FIELDS: readonly string[] = Object.keys(MESSAGE_FIELDS);
export const OPAQUE_CALL_FIELDS: readonly string[] = Object.keys(CALL_FIELDS);

/** The fields of a block whose pieces are joined. */
const BLOCK_TEXTS = new Set(['text', 'thinking', 'summary', 'reasoning']);

/** Collects the opaque parts of a Chat Completions answer. */
export class OpaqueParts {
  #message: JsonObject = {};
  /** The calls in the order of their first piece. */
  readonly #calls: { key: string; id: unknown; fields: JsonObject; ofFunction: JsonObject }[] = [];

  /** Processes a delta of a stream, or a whole message. */
  take(message: Record<string, unknown>, isWhole: boolean): void {
    this.#message = mergeFields(this.#message, message, MESSAGE_FIELDS, isWhole);
    this.#takeParts(message['content'], isWhole);
    const calls: unknown = message['tool_calls'];
    if (Array.isArray(calls)) for (const call of calls) if (isJsonObject(call)) this.#takeCall(call, isWhole);
  }

  /** Returns the kept entries of an answer with this text and these calls, or undefined. */
  entries(text: string, calls: readonly { id?: unknown }[]): JsonValue[] | undefined {
    const message = withoutRepetitions(this.#message);
    const ofCalls = calls.map((call, index) => {
      const known = this.#calls.find(({ id }) => typeof id === 'string' && id !== '' && id === call.id) ?? this.#calls[index];
      const ofFunction = known === undefined || Object.keys(known.ofFunction).length === 0 ? {} : { function: known.ofFunction };
      return { ...known?.fields, ...ofFunction };
    });
    if (Object.keys(message).length === 0 && ofCalls.every((fields) => Object.keys(fields).length === 0)) return undefined;
    return [
      ...(Object.keys(message).length === 0 ? [] : [{ t: 'message', ...message }]),
      ...(text.trim() === '' ? [] : [{ t: 'text' }]),
      ...ofCalls.map((fields, i) => ({ t: 'call', i, ...fields })),
    ];
  }

  /** Keeps the non-text parts of a content, such as the thinking of Mistral and Databricks. */
  #takeParts(content: unknown, isWhole: boolean): void {
    if (!Array.isArray(content)) return;
    const parts = content.filter((part) => isJsonObject(part) && part['type'] !== 'text' && part['type'] !== 'output_text');
    const cleaned = cleanJson(parts);
    if (parts.length === 0 || cleaned === undefined) return;
    const present = this.#message['content'];
    this.#message = { ...this.#message, content: mergedValue(present, cleaned, 'merged', isWhole) };
  }

  #takeCall(call: Record<string, unknown>, isWhole: boolean): void {
    const { id, index } = call;
    const named = typeof id === 'string' && id !== '';
    const key = isWhole ? `whole:${this.#calls.length}` : typeof index === 'number' ? `index:${index}` : named ? `id:${id}` : 'last';
    const known = this.#calls.findLast((one) => (key === 'last' ? true : one.key === key && (!named || !one.id || one.id === id)));
    const entry = known ?? { key, id: undefined, fields: {}, ofFunction: {} };
    if (known === undefined) this.#calls.push(entry);
    if (named) entry.id = id;
    entry.fields = mergeFields(entry.fields, call, CALL_FIELDS, isWhole);
    if (isJsonObject(call['function'])) entry.ofFunction = mergeFields(entry.ofFunction, call['function'], CALL_FIELDS, isWhole);
  }
}

/** Adds the fields of a piece that are in the table. */
function mergeFields(
  present: JsonObject,
  piece: Record<string, unknown>,
  fields: Readonly<Record<string, Pieces>>,
  isWhole: boolean,
): JsonObject {
  let result = present;
  for (const [name, pieces] of Object.entries(fields)) {
    const value = Object.hasOwn(piece, name) ? filledValue(cleanJson(piece[name])) : undefined;
    if (value === undefined) continue;
    const kept = name === 'provider_specific_fields' ? signaturesOf(value) : value;
    if (kept !== undefined) result = { ...result, [name]: mergedValue(result[name], kept, pieces, isWhole) };
  }
  return result;
}

function mergedValue(present: JsonValue | undefined, arriving: JsonValue, pieces: Pieces, isWhole: boolean): JsonValue {
  if (present === undefined) return arriving;
  if (pieces === 'text' && typeof present === 'string' && typeof arriving === 'string') return present + arriving;
  if (Array.isArray(present) && Array.isArray(arriving)) {
    return isWhole ? [...present, ...arriving] : arriving.reduce<JsonValue[]>(withBlock, [...present]);
  }
  if (pieces === 'merged' && isJsonObject(present) && isJsonObject(arriving)) return mergedObject(present, arriving);
  return arriving;
}

function mergedObject(present: JsonObject, arriving: JsonObject): JsonObject {
  const result: JsonObject = { ...present };
  for (const [name, value] of Object.entries(arriving)) {
    const before = Object.hasOwn(result, name) ? result[name] : undefined;
    if (filledValue(value) === undefined) continue;
    result[name] = isJsonObject(before) && isJsonObject(value) ? mergedObject(before, value) : value;
  }
  return result;
}

/** Adds a piece to the block that it continues: the block with the same index, or the last one while it has no signature. */
function withBlock(blocks: JsonValue[], piece: JsonValue): JsonValue[] {
  if (!isJsonObject(piece)) return [...blocks, piece];
  const { index } = piece;
  const at = blocks.findLastIndex((block, place) => {
    if (!isJsonObject(block) || (piece['type'] !== undefined && block['type'] !== piece['type'])) return false;
    return typeof index === 'number' ? block['index'] === index : place === blocks.length - 1 && isOpen(block);
  });
  const block = blocks[at];
  if (!isJsonObject(block)) return [...blocks, piece];
  return blocks.map((one, place) => (place === at ? continued(block, piece) : one));
}

function isOpen(block: JsonObject): boolean {
  return filledValue(block['signature']) === undefined && block['data'] === undefined;
}

function continued(block: JsonObject, piece: JsonObject): JsonObject {
  const result: JsonObject = { ...block };
  for (const [name, value] of Object.entries(piece)) {
    const before = Object.hasOwn(result, name) ? result[name] : undefined;
    if (BLOCK_TEXTS.has(name) && typeof before === 'string' && typeof value === 'string') result[name] = before + value;
    else if (Array.isArray(before) && Array.isArray(value)) result[name] = value.reduce<JsonValue[]>(withBlock, [...before]);
    else if (filledValue(value) !== undefined) result[name] = value;
  }
  return result;
}

/** Returns a value unless it is null or empty. */
function filledValue(value: JsonValue | undefined): JsonValue | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'object' && Object.keys(value).length === 0 ? undefined : value;
}

function signaturesOf(value: JsonValue): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  const kept = Object.entries(value).filter(([name, one]) => /signature|encrypted|opaque/i.test(name) && filledValue(one) !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** The fields of plain reasoning. Servers send several of them with the same text. */
const REASONING = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

/** Removes fields that repeat another one: a reasoning text may have tens of kilobytes. */
function withoutRepetitions(message: JsonObject): JsonObject {
  const result = { ...message };
  const seen = new Set(['reasoning_details', 'thinking_blocks'].map((name) => blockText(result[name])).filter((text) => text !== ''));
  for (const name of REASONING) {
    const text = result[name];
    if (typeof text !== 'string') continue;
    if (seen.has(text)) delete result[name];
    seen.add(text);
  }
  return result;
}

function blockText(blocks: unknown): string {
  if (!Array.isArray(blocks)) return '';
  return blocks.map((block: unknown) => (isJsonObject(block) ? [...BLOCK_TEXTS].map((name) => textIn(block[name])).join('') : '')).join('');
}

/** Returns the reasoning of a message as text, from whichever field has it. */
export function reasoningText(message: Readonly<Record<string, unknown>>): string {
  const plain = REASONING.map((name) => textIn(message[name])).find((text) => text !== '');
  return plain ?? (blockText(message['reasoning_details']) || blockText(message['thinking_blocks']));
}

/** The opaque parts of an answer, by their positions in the next request. */
export interface PlacedParts {
  /** Fields of the message. */
  message: JsonObject;
  /** Fields of the calls, by index. */
  calls: JsonObject[];
  /** Items of the Responses API, and the text and the calls between them, in order. */
  order: ({ item: JsonObject } | 'text' | { call: number })[];
}

/** Returns the opaque parts of an event; undefined if it has none, or they no longer match its content, in which case none is sent. */
export function placedParts({
  content,
  providerItems = [],
}: Pick<ConversationEvent, 'content' | 'providerItems'>): PlacedParts | undefined {
  if (providerItems.length === 0) return undefined;
  const parts: PlacedParts = { message: {}, calls: [], order: [] };
  let texts = 0;
  for (const entry of providerItems) {
    if (!isJsonObject(entry)) return undefined;
    const { t, i, item, ...fields } = entry;
    if (t === 'message') parts.message = { ...parts.message, ...fields };
    else if (t === 'item' && isJsonObject(item)) parts.order.push({ item });
    else if (t === 'text') {
      texts += 1;
      parts.order.push('text');
    } else if (t === 'call' && i === parts.calls.length) {
      parts.order.push({ call: i });
      parts.calls.push(fields);
    } else return undefined;
  }
  const calls = content.filter(({ type }) => type === 'tool_call').length;
  return calls === parts.calls.length && texts === (hasText(content) ? 1 : 0) ? parts : undefined;
}

function hasText(content: readonly ContentItem[]): boolean {
  return content.some((item) => item.type === 'message' && item.role === 'assistant' && writtenText(item.content).trim() !== '');
}

/** Returns a short digest of opaque parts, which lets a client recognize refused parts. */
export function partsDigest(providerItems: readonly JsonValue[]): string {
  return createHash('sha256').update(JSON.stringify(providerItems)).digest('base64url').slice(0, 16);
}

/**
 * Returns a fingerprint of an account: the same for the same host, organization and key, in every process. It is a digest of 32 bits, which
 * reveals nothing about the key.
 */
export function accountFingerprint(parts: readonly string[]): string {
  return createHash('sha256')
    .update(['longhaul: the account of a provider', ...parts].join('\n'))
    .digest('hex')
    .slice(0, 8);
}

/** Returns an answer with the account to which its opaque parts belong, if it has any: they are only sent back to that account. */
export function ofAccount(answer: ModelResponse, account: string): ModelResponse {
  return answer.providerItems === undefined ? answer : { ...answer, account };
}
