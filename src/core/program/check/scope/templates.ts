import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import type { OutlineStep, OutlineUnit } from '../outline.ts';

/** A value of the document in which references are resolved, and its path. */
export interface Template {
  value: JsonValue;
  path: string;
}

/** The fields in which references are resolved, by the kind of the step. */
const TEMPLATE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ask: ['prompt'],
  tool: ['arguments'],
  agent: ['input', 'deps'],
  program: ['input'],
  human: ['question'],
  remember: ['key', 'value', 'metadata'],
  recall: ['query'],
};

/** The fields that are taken as they are, although an author may expect references to be resolved there. */
const LITERAL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ask: ['model', 'type', 'effort', 'tools'],
  tool: ['name'],
  agent: ['name'],
  program: ['name'],
  remember: ['scope'],
  recall: ['scope'],
};

/** Lists the values of a step in which references are resolved, without those of the steps inside it. */
export function templatesOf(step: OutlineStep): Template[] {
  return fieldsOf(step, TEMPLATE_FIELDS);
}

/** Lists the values of a step that are taken as they are. */
export function literalsOf(step: OutlineStep): Template[] {
  return fieldsOf(step, LITERAL_FIELDS);
}

/** Lists the texts of a unit in which references are resolved when the unit begins. */
export function unitTemplates({ value, path }: OutlineUnit): Template[] {
  return pick(value, path, ['persona', 'context', 'instructions']);
}

function fieldsOf({ kind, body, path }: OutlineStep, names: Readonly<Record<string, readonly string[]>>): Template[] {
  return kind === undefined ? [] : pick(body, `${path}.${kind}`, names[kind] ?? []);
}

function pick(object: JsonObject, path: string, keys: readonly string[]): Template[] {
  return keys.flatMap((key) => {
    const value = Object.hasOwn(object, key) ? object[key] : undefined;
    return value === undefined ? [] : [{ value, path: `${path}.${key}` }];
  });
}
