import { jsonrepair } from 'jsonrepair';
import { errorMessage } from '../core/domain/errors/error.ts';
import { MAX_JSON_DEPTH } from '../core/domain/json/json-depth.ts';
import type { JsonValue } from '../core/domain/json/json.ts';
import { cleanParsed } from './clean-json.ts';

/** JSON text as a value, or why it is none. */
export type ParsedText = { ok: true; value: JsonValue; repaired: boolean } | { ok: false; problem: string };

/** Repairing takes more than linear time: what is longer (in characters) goes back to the model. */
const MAX_REPAIRED_LENGTH = 100_000;

/**
 * The JSON text of a model as a value. `JSON.parse` decides: only what it refuses is repaired, because the repair has
 * been seen to refuse valid JSON. `complete: false` (the answer was cut off) forbids the repair, which would close
 * what the model had not finished saying.
 */
export function parseJsonText(text: string, complete: boolean): ParsedText {
  const parsed = parse(text);
  if (parsed.ok || text.length > MAX_REPAIRED_LENGTH) return parsed;
  if (!complete) return { ok: false, problem: `the answer was cut off: ${parsed.problem}` };
  try {
    const repairedText = jsonrepair(text);
    const repaired = parse(repairedText);
    return repaired.ok && !inventsNull(text, repairedText) ? { ...repaired, repaired: true } : parsed;
  } catch {
    return parsed;
  }
}

/** A value that the model left out is repaired to null: a tool must not run with what nobody said. */
function inventsNull(text: string, repairedText: string): boolean {
  return /\bnull\b/.test(repairedText) && !/null|None|undefined/.test(text);
}

function parse(text: string): ParsedText {
  try {
    const value = cleanParsed(JSON.parse(text) as JsonValue);
    if (value !== undefined) return { ok: true, value, repaired: false };
    return { ok: false, problem: `it is nested deeper than ${MAX_JSON_DEPTH} levels` };
  } catch (error) {
    return { ok: false, problem: errorMessage(error).toWellFormed() };
  }
}
