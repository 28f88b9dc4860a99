import type { z } from 'zod';

/** The types that return the value they get, once their parts are known to. Each has its parts in the named fields of its definition. */
const PARTS: Partial<Record<string, readonly string[]>> = {
  string: [],
  number: [],
  int: [],
  boolean: [],
  null: [],
  any: [],
  unknown: [],
  never: [],
  enum: [],
  literal: [],
  template_literal: [],
  custom: [],
  object: ['shape', 'catchall'],
  array: ['element'],
  tuple: ['items', 'rest'],
  record: ['keyType', 'valueType'],
  union: ['options'],
  intersection: ['left', 'right'],
  optional: ['innerType'],
  nullable: ['innerType'],
  nonoptional: ['innerType'],
  readonly: ['innerType'],
  lazy: ['getter'],
};

/** The checks that return the value they get. A function of the user (`check`, `superRefine`) may replace it; `refine` cannot. */
const CHECKS: ReadonlySet<string> = new Set([
  'less_than',
  'greater_than',
  'multiple_of',
  'number_format',
  'min_length',
  'max_length',
  'length_equals',
  'min_size',
  'max_size',
  'size_equals',
  'string_format',
  'property',
]);

/**
 * True if parsing with a schema may return another value than it was given: a default, a trimmed text, a coerced number. Anything that is not
 * known counts as a change, also the schema of another library. Fields that an object does not know, which parsing drops, do not count.
 */
export function changesValues(schema: z.ZodType): boolean {
  return mayChange(schema, new Set());
}

function mayChange(schema: unknown, seen: Set<unknown>): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  const def = definitionOf(schema);
  const parts = typeof def?.['type'] === 'string' ? PARTS[def['type']] : undefined;
  if (def === undefined || parts === undefined || def['coerce'] === true) return true;
  // A format is a check and a type in one.
  if (typeof def['check'] === 'string' && checkChanges(def)) return true;
  if (Array.isArray(def['checks']) && def['checks'].some((check) => checkChanges(definitionOf(check)))) return true;
  return parts.flatMap((name) => schemasIn(name, def[name])).some((part) => mayChange(part, seen));
}

function checkChanges(def: Definition | undefined): boolean {
  if (def === undefined) return true;
  // A refinement is also a type, with the function that only looks at the value.
  if (def['check'] === 'custom') return def['type'] !== 'custom';
  // These two return a URL or a text without the blanks around it.
  if (def['check'] === 'string_format' && ['url', 'httpUrl'].includes(String(def['format']))) return true;
  return !CHECKS.has(String(def['check']));
}

type Definition = Partial<Record<string, unknown>>;

function definitionOf(schema: unknown): Definition | undefined {
  const inner = typeof schema === 'object' && schema !== null && '_zod' in schema ? (schema._zod as { def?: Definition }) : undefined;
  return inner?.def;
}

/** Returns the schemas in a field of a definition: one, a list of them, or an object of them. */
function schemasIn(name: string, value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (name === 'getter') return [(value as () => unknown)()];
  if (Array.isArray(value)) return value;
  return name === 'shape' ? Object.values(value) : [value];
}
