import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { tidySchema, usableSchema } from './usable-schema.ts';

/** A tool of a server as it can be used. */
export interface ReadTool {
  /** The name that the server knows. */
  name: string;
  description: string;
  /** The schema of its arguments: of an object. */
  input: JsonObject;
  /** The schema of its structured results, if it has one that can be checked. */
  output?: JsonObject;
  /** True if the server says that a call may run again. */
  isRepeatable: boolean;
  /** What was made of the description of the server, for a person: each continues "tool … ". */
  changes: string[];
  problem?: never;
}

/** A tool that cannot be used, and why. */
export interface UnusableTool {
  name: string;
  problem: string;
}

/** Stands at the end of a list that was not read to its end. */
export const FURTHER_TOOLS = Symbol('further tools');

/** The longest name of a tool, in characters. Providers get a shorter one. */
const MAX_NAME = 256;

/** Returns the name of a tool in the list of a server; undefined for what has none. */
export function nameOfTool(listed: unknown): string | undefined {
  if (!isJsonObject(listed)) return undefined;
  const { name } = listed;
  return typeof name === 'string' && name.trim() !== '' ? name : undefined;
}

/** Tools by what the server has listed: a connection lists tools rarely and calls them often. */
const known = new WeakMap<object, ReadTool | UnusableTool>();

/** Judges one tool of a server's list by itself: what cannot be read of it takes no other tool along. */
export function readTool(listed: JsonObject, name: string): ReadTool | UnusableTool {
  const before = known.get(listed);
  if (before !== undefined) return before;
  const read = judge(listed, name);
  known.set(listed, read);
  return read;
}

function judge(listed: JsonObject, name: string): ReadTool | UnusableTool {
  if (name.length > MAX_NAME) return { name, problem: `its name has ${name.length} characters, over ${MAX_NAME}` };
  if (!name.isWellFormed()) return { name, problem: 'its name is not well-formed text' };
  const { description, title, annotations, inputSchema, outputSchema } = listed;
  const usable = usableSchema(inputSchema);
  if (usable.schema === undefined) return { name, problem: usable.problem };
  const changes = usable.change === undefined ? [] : [usable.change];
  const texts = [description, title].filter((text): text is string => typeof text === 'string' && text.trim() !== '');
  if (isOdd(description, 'string')) changes.push('has a description that is not a text: its name stands for it');
  const hints = hintsOf(annotations, changes);
  const output = outputOf(outputSchema);
  return {
    name,
    description: (texts[0] ?? name).toWellFormed(),
    input: usable.schema,
    ...(output === undefined ? {} : { output }),
    isRepeatable: hints.some((hint) => hint === true),
    changes,
  };
}

/** Returns the hints that make a call repeatable. Only a boolean is one: a call that is repeated by mistake acts twice. */
function hintsOf(annotations: unknown, changes: string[]): unknown[] {
  if (annotations === undefined || annotations === null) return [];
  if (!isJsonObject(annotations)) {
    changes.push('has annotations that are not an object: they are ignored');
    return [];
  }
  const names = ['readOnlyHint', 'idempotentHint'] as const;
  for (const name of names) {
    if (isOdd(annotations[name], 'boolean'))
      changes.push(`has the annotation ${name} with a value that is not true or false: it is ignored`);
  }
  return names.map((name) => annotations[name]);
}

function isOdd(value: unknown, type: 'string' | 'boolean'): boolean {
  return value !== undefined && value !== null && typeof value !== type;
}

/** Returns the schema of structured results. One that is none checks nothing. */
function outputOf(given: unknown): JsonObject | undefined {
  const schema = cleanJson(given ?? null);
  return schema !== undefined && isJsonObject(schema) && Object.keys(schema).length > 0 ? tidySchema(schema) : undefined;
}
