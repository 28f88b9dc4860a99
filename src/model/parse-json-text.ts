import { jsonrepair } from 'jsonrepair';
import { errorMessage } from '../core/domain/errors/error.ts';
import { MAX_JSON_DEPTH } from '../core/domain/json/json-depth.ts';
import type { JsonValue } from '../core/domain/json/json.ts';
import { cleanParsed } from './clean-json.ts';

/** The value of JSON text, or the reason why it is not JSON. */
export type ParsedText = { ok: true; value: JsonValue; repaired: boolean } | { ok: false; problem: string };

/**
 * The longest text that is repaired, in characters. Repairing takes more than linear time; longer texts are returned
 * to the model as a problem.
 */
const MAX_REPAIRED_LENGTH = 100_000;

/**
 * Parses JSON text of a model. Only text that `JSON.parse` refuses is repaired, because the repair has been seen to
 * refuse valid JSON. `complete: false` (the answer was cut off) forbids the repair, which would complete what the
 * model had not finished writing.
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

/**
 * True if the repair replaced a missing value by null: a tool must not run with a value that the model did not send.
 */
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
