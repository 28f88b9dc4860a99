import { isJsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { unknownTool } from '../../../src/core/domain/tool-calls.ts';

/** The messages of the systems about an unknown tool. One wording is kept, and the others are accepted here. */
const UNKNOWN_TOOL = [/^Tool '(.+)' not found$/, /^Tool not found: (.+)$/];

/** Returns the text in the wording of the code. */
export function keptWording(text: string): string {
  const name = UNKNOWN_TOOL.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  return name === undefined ? text : unknownTool(name);
}

/** The value with every text in it replaced by the result of `change`; keys are unchanged. */
export function mapTexts(value: JsonValue, change: (text: string) => JsonValue): JsonValue {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((element) => mapTexts(element, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapTexts(member, change)]));
}

/** JSON text as its value, so that it is compared after parsing; any other text unchanged. */
export function parsedJsonText(text: string): JsonValue {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
