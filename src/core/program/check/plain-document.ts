import { utf8Length } from '../../domain/content/text.ts';
import { errorMessage } from '../../domain/errors/error.ts';
import { isTooDeep } from '../../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../domain/json/json.ts';
import { PROGRAM_LIMITS } from '../../domain/program/document.ts';

/** A document as plain JSON, or the reason why it is none. */
export type PlainDocument = { ok: true; document: JsonObject } | { ok: false; message: string };

/** Copies a document as the JSON that will be stored. Refuses what is no JSON object, too large or nested too deeply. Never throws. */
export function plainDocument(value: unknown): PlainDocument {
  try {
    const { jsonLevels } = PROGRAM_LIMITS;
    if (isTooDeep(value, jsonLevels)) return refused(`the document is nested deeper than ${jsonLevels} levels`);
    const text = JSON.stringify(value);
    if (text === undefined) return refused(`expected an object, got ${typeof value}`);
    const bytes = utf8Length(text);
    if (bytes > PROGRAM_LIMITS.bytes) {
      return refused(`the document has ${bytes} bytes of JSON, more than ${PROGRAM_LIMITS.bytes}: split it into several programs`);
    }
    const document: unknown = JSON.parse(text);
    if (isJsonObject(document)) return { ok: true, document };
    return refused(`expected an object, got ${Array.isArray(document) ? 'array' : document === null ? 'null' : typeof document}`);
  } catch (error) {
    return refused(`the document is not JSON: ${errorMessage(error)}`);
  }
}

function refused(message: string): PlainDocument {
  return { ok: false, message };
}
