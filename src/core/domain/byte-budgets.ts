import { isJsonObject, type JsonValue } from './json.ts';
import { jsonTextPrefix, utf8Length } from './text.ts';

/**
 * The byte budgets of a run, in bytes of JSON in UTF-8, before any codec.
 *
 * Everything that a run carries into its next execution travels in one payload of `MAX_PAYLOAD_BYTES` (1.9 MB). So the parts that are never
 * dropped (snapshot, start input, deps, state) and the queue take at most 1.3 MB together; 0.6 MB remain for the conversation's window and
 * the run's counters. A model response or a tool result enters the history once and may leave the window again. It has a separate budget:
 * it must fit into one payload, and into a page of a query's answer along with state and final result. A codec adds a few bytes to each
 * payload; the payload limit is far enough below Temporal's 2 MiB for that.
 */
export const BYTE_BUDGETS = {
  /** The pinned snapshot of the agent: instructions, tool schemas, output schema. */
  snapshot: 400_000,
  /** The input of a run, text or parts, and the conversation before it. The first event is never dropped. */
  startInput: 400_000,
  /** The values that an agent's code receives at the start of its run. They are part of the snapshot. */
  injected: 64_000,
  /** The deps of a run, at its start and after each change; also the operations of one change. */
  deps: 150_000,
  /** The state of a run, after each change. */
  state: 150_000,
  /** The content of one message sent to a run. */
  message: 100_000,
  /** The arguments edited by an approver, or the approver's answer instead of the tool. */
  decision: 64_000,
  /** All messages in the queue of a run. */
  queue: 200_000,
  /** All accepted and not yet applied decisions, raised limits and refusals of a run. */
  requests: 90_000,
  /** A model response without its calls' arguments: text, structured value, provider items, names and ids. */
  modelText: 400_000,
  /** The summary of the older part of a conversation. */
  summary: 32_000,
  /** The arguments of one tool call. */
  toolArguments: 400_000,
  /** A whole model response as recorded: room for 200 calls with 5 kB of arguments each. */
  modelResponse: 1_200_000,
  /** The content of one tool result, unless its tool sets another budget. */
  toolResult: 64_000,
  /** The largest budget that a tool may set for a result. */
  maxToolResult: 400_000,
  /** One note to the model about a call. */
  note: 10_000,
  /** All notes about one call. */
  notes: 40_000,
  /** The changes of state and deps by one call of a local tool. */
  localChanges: 16_000,
  /** The details of one heartbeat of a tool. */
  heartbeat: 64_000,
  /** The message of a failure, wherever it is recorded. */
  errorMessage: 8_000,
} as const satisfies Record<string, number>;

/** The maximum number of messages in the queue of a run. */
export const MAX_QUEUED_MESSAGES = 100;

/** The maximum bytes of JSON of one payload. Temporal refuses a payload of 2 MiB and retries the refused task forever. */
export const MAX_PAYLOAD_BYTES = 1_900_000;

export function jsonBytes(value: unknown): number {
  return utf8Length(JSON.stringify(value) ?? '');
}

/** Content cut to a budget. */
interface CutContent {
  content: JsonValue[];
  /** The number of missing UTF-8 bytes, counted in texts themselves and in the JSON of other values. 0 if complete. */
  missingBytes: number;
}

/** Returns the model's note about how much is missing. The text for a larger number must not be shorter. */
type CutMarker = (missingBytes: number, totalBytes: number) => string;

const MEDIA_TYPES = ['image', 'audio', 'video', 'file'];

/**
 * Returns the longest beginning of `content` that fits `maxBytes` of JSON together with the marker. Blocks stay whole as long as they fit.
 * The first block that does not fit is cut as text, never inside a character, and the blocks after it are dropped. A value that is not text
 * is cut as JSON text; media cannot be cut and is dropped as a whole. The marker is in the first block, because models read only the first
 * block of a tool result: at the end of a text, or before media.
 */
export function cutContent(content: JsonValue[], maxBytes: number, marker: CutMarker): CutContent {
  if (jsonBytes(content) <= maxBytes) return { content, missingBytes: 0 };
  const texts = content.map(blockText);
  const total = texts.reduce((sum, text) => sum + utf8Length(text), 0);
  // Leaves room for the brackets of the list and for the longest marker as a separate block.
  let room = maxBytes - jsonBytes([marker(total, total)]);
  let missing = total;
  const kept: JsonValue[] = [];
  for (const [index, block] of content.entries()) {
    const text = texts[index] ?? '';
    const value = index === 0 && !isMedia(block) ? text : block;
    const bytes = jsonBytes(value) + ','.length;
    if (bytes > room) {
      const piece = isMedia(block) ? '' : jsonTextPrefix(text, room - '"",'.length);
      missing -= utf8Length(piece);
      if (piece !== '') kept.push(piece);
      break;
    }
    room -= bytes;
    missing -= utf8Length(text);
    kept.push(value);
  }
  return { content: withMarker(kept, marker(missing, total)), missingBytes: missing };
}

function withMarker([first, ...others]: JsonValue[], marker: string): JsonValue[] {
  if (first === undefined) return [marker];
  return typeof first === 'string' ? [`${first}\n${marker}`, ...others] : [marker, first, ...others];
}

/** Cuts a text so that its JSON fits `maxBytes`, and appends the number of missing bytes. Returns a text that fits unchanged. */
export function cutText(text: string, maxBytes: number): string {
  if (jsonBytes(text) <= maxBytes) return text;
  const total = utf8Length(text);
  const end = (missing: number): string => ` [Cut: ${missing} of ${total} bytes are missing]`;
  const kept = jsonTextPrefix(text, maxBytes - jsonBytes(end(total)));
  return `${kept}${end(total - utf8Length(kept))}`;
}

/** Returns the text of a block whose bytes are counted. */
function blockText(block: JsonValue): string {
  return typeof block === 'string' ? block : JSON.stringify(block);
}

function isMedia(block: JsonValue): boolean {
  return isJsonObject(block) && typeof block['type'] === 'string' && MEDIA_TYPES.includes(block['type']);
}

export function cutMarker(missingBytes: number, totalBytes: number): string {
  return `[Cut: ${missingBytes} of ${totalBytes} bytes of this result are missing. Ask for less, or for a part.]`;
}

/** Returns the marker of a preview whose full result is in the payload store. */
export function spilledMarker(missingBytes: number, totalBytes: number): string {
  return `[Preview: ${missingBytes} of ${totalBytes} bytes of this result are not shown here; the whole is stored. Ask for less, or for a part.]`;
}

/** The maximum number of items kept in a list, and their maximum bytes of JSON. */
interface Bounds {
  count: number;
  bytes: number;
}

/** Returns the newest items (the last ones) within the bounds. */
export function newest<Item>(items: readonly Item[], most: Bounds): Item[] {
  let bytes = 0;
  let count = 0;
  for (const item of items.toReversed()) {
    bytes += jsonBytes(item) + ','.length;
    if (bytes > most.bytes || count === most.count) break;
    count += 1;
  }
  return items.slice(items.length - count);
}

/** A piece of the JSON text of a value. */
export interface JsonPiece {
  text: string;
  /** The number of characters of the whole text. */
  of: number;
}

/** The maximum bytes of JSON of a value that is passed whole. */
export const WHOLE_BYTES = 1_000_000;

/** The characters of a piece: as JSON, each may take three bytes. */
const PIECE_CHARACTERS = 500_000;

/** Returns a piece of the JSON text of a value, beginning at an index. */
export function jsonPiece(value: JsonValue, from: number): JsonPiece {
  const text = JSON.stringify(value);
  return { text: text.slice(from, from + PIECE_CHARACTERS), of: text.length };
}

/** Reads a value piece by piece. Returns anything other than a piece unchanged. Throws a TypeError for a text that ends too early. */
export async function joinPieces<Other extends object>(
  read: (from: number) => Promise<{ piece: JsonPiece } | Other>,
): Promise<{ value: JsonValue } | Other> {
  let text = '';
  for (;;) {
    const one = await read(text.length);
    if (!('piece' in one)) return one;
    text += one.piece.text;
    if (text.length >= one.piece.of) return { value: JSON.parse(text) as JsonValue };
    if (one.piece.text === '') throw new TypeError(`The JSON text of a value ends after ${text.length} of ${one.piece.of} characters`);
  }
}

/** The maximum characters of a capability's name. */
export const MAX_CAPABILITY_NAME = 64;
