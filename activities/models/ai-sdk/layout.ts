import { type ContentPart, writtenText } from '../../../src/core/domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { ConversationEvent } from '../../../src/core/domain/model.ts';
import type { AssistantPart, ProviderMetadata } from './language-model.ts';

/*
 * The layout of an answer: its parts in order, with the metadata that the provider expects back. The record already has the content itself,
 * so a text is a length, and a call an index, which stays valid if its id or its arguments are recorded in another form:
 *
 *   {t: 'reasoning', text, m}                       reasoning, with its signature in the metadata
 *   {t: 'text', n, m}                               the next n UTF-16 units of the text
 *   {t: 'call', i, m}                               the i-th call
 *   {t: 'file', i, m}                               the i-th file
 *   {t: 'reasoning-file', mediaType, data, m}       a file of the reasoning, not of the message: only in a payload store
 *   {t: 'hosted-call', id, name, input, m}          a call that the provider made itself
 *   {t: 'hosted-result', id, name, output, isError, m}
 *   {t: 'custom', kind, m}                          a part that only its provider knows
 */

/** An entry of a layout while an answer arrives. */
export type Entry = { m?: ProviderMetadata } & (
  | { t: 'reasoning'; text: string }
  | { t: 'text'; text: string }
  | { t: 'call'; i: number }
  | { t: 'file'; i: number }
  | { t: 'reasoning-file'; mediaType: string; data: string }
  | { t: 'hosted-call'; id: string; name: string; input: unknown }
  | { t: 'hosted-result'; id: string; name: string; output: unknown; isError?: true }
  | { t: 'custom'; kind: string }
);

/** Returns a layout in recorded form; undefined if it adds nothing to the content, which has one text, its files, and then calls. */
export function recordedLayout(entries: readonly Entry[]): JsonValue[] | undefined {
  const said = entries.filter((entry) => entry.t !== 'text' || entry.text !== '' || entry.m !== undefined);
  const order = said.map(({ t, m }) => (m === undefined ? (LETTERS[t] ?? '?') : '?')).join('');
  if (/^t?f*c*$/.test(order)) return undefined;
  const layout = said.map((entry) => (entry.t === 'text' ? { t: entry.t, n: entry.text.length, ...defined({ m: entry.m }) } : entry));
  return layout as JsonValue[];
}

/** The kinds of entries that are also in the content. */
const LETTERS: Partial<Record<Entry['t'], string>> = { text: 't', file: 'f', call: 'c' };

/** Converts a call for a request: its id and name may have to be changed for the provider. */
export type ShowCall = (
  call: { toolCallId: string; name: string; arguments: JsonObject },
  m: { providerOptions?: ProviderMetadata },
) => AssistantPart;

/** Converts a file of an answer for a request; returns undefined to leave it out. */
export type ShowFile = (file: MediaPart, m: { providerOptions?: ProviderMetadata }) => AssistantPart | undefined;

/** A part of a message other than text. */
type MediaPart = Exclude<ContentPart, { type: 'text' }>;

/** Returns the files of an answer. */
export function filesIn(content: ConversationEvent['content']): MediaPart[] {
  const messages = content.flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? [item.content] : []));
  return messages.flatMap((parts) => (typeof parts === 'string' ? [] : parts.filter((part) => part.type !== 'text')));
}

/**
 * Returns the parts of an answer as its provider sent them; undefined if they are not recorded, or no longer match the content. Nothing in
 * the record is trusted.
 */
export function restoredParts(
  { content, providerItems = [] }: Pick<ConversationEvent, 'content' | 'providerItems'>,
  show: ShowCall,
  showFile: ShowFile = () => undefined,
): AssistantPart[] | undefined {
  if (providerItems.length === 0) return undefined;
  const files = filesIn(content);
  // If some file was not kept, it is unknown which.
  const hasAll = providerItems.filter((entry) => isJsonObject(entry) && entry['t'] === 'file').length === files.length;
  const text = content.map((item) => (item.type === 'message' ? writtenText(item.content) : '')).join('');
  const calls = content.flatMap((item) => (item.type === 'tool_call' ? [item] : []));
  const parts: (() => AssistantPart)[] = [];
  let [said, called] = [0, 0];
  for (const entry of providerItems) {
    const options = isJsonObject(entry) && isJsonObject(entry['m']) ? { providerOptions: entry['m'] as ProviderMetadata } : {};
    if (isJsonObject(entry) && entry['t'] === 'text' && Number.isSafeInteger(entry['n']) && Number(entry['n']) >= 0) {
      const piece = text.slice(said, (said += Number(entry['n'])));
      // No provider accepts a blank assistant text, unless it has signed it.
      if (piece.trim() !== '' || options.providerOptions !== undefined) parts.push(() => ({ type: 'text', text: piece, ...options }));
      continue;
    }
    const call = calls[called];
    if (isJsonObject(entry) && entry['t'] === 'call' && entry['i'] === called && call !== undefined) {
      called += 1;
      parts.push(() => show(call, options));
      continue;
    }
    if (isJsonObject(entry) && entry['t'] === 'file') {
      const file = hasAll ? files[Number(entry['i'])] : undefined;
      const part = file && showFile(file, options);
      if (part !== undefined) parts.push(() => part);
      continue;
    }
    const other = otherPart(entry);
    if (other === undefined) return undefined;
    parts.push(() => ({ ...other, ...options }));
  }
  const fits = said === text.length && called === calls.length && parts.length > 0;
  // Converting a call assigns its id for the request.
  return fits ? parts.map((part) => part()) : undefined;
}

/** Returns the part for an entry that is not in the content. */
function otherPart(entry: JsonValue): AssistantPart | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { t, text, kind, id, name, input = null, output = null, isError, mediaType, data } = entry;
  if (t === 'reasoning' && typeof text === 'string') return { type: 'reasoning', text };
  if (t === 'custom' && typeof kind === 'string') return { type: 'custom', kind };
  if (t === 'reasoning-file' && typeof mediaType === 'string' && typeof data === 'string')
    return { type: 'reasoning-file', mediaType, data: { type: 'data', data } };
  if (typeof id !== 'string' || typeof name !== 'string') return undefined;
  const call = { toolCallId: id, toolName: name };
  if (t === 'hosted-call') return { type: 'tool-call', ...call, input, providerExecuted: true };
  if (t === 'hosted-result')
    return { type: 'tool-result', ...call, output: { type: isError === true ? 'error-json' : 'json', value: output } };
  return undefined;
}
