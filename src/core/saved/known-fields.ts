import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import { memberPath } from '../domain/json/json-path.ts';

/** The place of an object in a document, and the list to which warnings about it are added. */
export interface Place {
  path: string;
  warnings: string[];
}

/** Returns the members of an object that a document may have and that are not null. Adds a warning for each of the others. */
export function knownFields(object: JsonObject, fields: Readonly<Record<string, true>>, { path, warnings }: Place): JsonObject {
  const entries = Object.entries(object);
  for (const [key] of entries) if (!Object.hasOwn(fields, key)) warnings.push(`${memberPath(path, key)} is unknown, and ignored`);
  return Object.fromEntries(entries.filter(([key, value]) => Object.hasOwn(fields, key) && value !== null));
}

/** Returns a member of an object itself, never one of its prototype. */
export function ownMember(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
