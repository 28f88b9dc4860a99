import { isJsonObject, type JsonValue } from '../../../src/core/domain/json/json.ts';
import { unknownTool } from '../../../src/core/domain/content/tool-text.ts';

/** How the systems say that a tool is unknown. One wording is kept, the others are accepted here. */
const UNKNOWN_TOOL = [/^Tool '(.+)' not found$/, /^Tool not found: (.+)$/];

/** The text in the wording that the code uses. */
export function keptWording(text: string): string {
  const name = UNKNOWN_TOOL.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  return name === undefined ? text : unknownTool(name);
}

/** The value with every text in it replaced by what `change` makes of it; keys stay as they are. */
export function mapTexts(value: JsonValue, change: (text: string) => JsonValue): JsonValue {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((element) => mapTexts(element, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapTexts(member, change)]));
}

/** JSON text as the value it stands for, so that it is compared after parsing; any other text as it is. */
export function parsedJsonText(text: string): JsonValue {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
