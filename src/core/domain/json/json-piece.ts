import type { JsonValue } from './json.ts';

/** A piece of the JSON text of a value. */
export interface JsonPiece {
  text: string;
  /** The number of characters of the whole text. */
  of: number;
}

/** Bytes of JSON of a value that travels whole. */
export const WHOLE_BYTES = 1_000_000;

/** Characters of a piece: as JSON, each may take three bytes. */
const PIECE_CHARACTERS = 500_000;

/** Returns the piece of the JSON text of a value that begins at an index. */
export function jsonPiece(value: JsonValue, from: number): JsonPiece {
  const text = JSON.stringify(value);
  return { text: text.slice(from, from + PIECE_CHARACTERS), of: text.length };
}

/** Reads a value piece by piece. Returns anything else than a piece as it is. Throws a TypeError for a text that ends too early. */
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
