import { isJsonObject, type JsonValue, memberPath } from '../../domain/json.ts';
import type { Reference } from './reference.ts';
import { parseTemplate } from './template.ts';

/** A reference, and the path of the text that has it. */
export interface PlacedReference {
  reference: Reference;
  path: string;
}

/** Lists the references in all texts of a value, in their order. `path` leads to the value in its document. */
export function referencesIn(value: JsonValue | undefined, path = ''): PlacedReference[] {
  if (typeof value === 'string') {
    return parseTemplate(value).flatMap((part) => (typeof part === 'string' ? [] : [{ reference: part, path }]));
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => referencesIn(item, memberPath(path, index)));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => referencesIn(member, memberPath(path, key)));
}
