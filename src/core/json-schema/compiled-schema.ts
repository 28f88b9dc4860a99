import { dereference, validate, type ValidationResult } from '@cfworker/json-schema';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { CheckMeter } from './check-meter.ts';
import { mapSubschemas, propertiesOf } from './json-schema.ts';
import { boundedPattern } from './bounded-pattern.ts';
import { UniqueItems } from './unique-items.ts';

/** A schema prepared for the validator. It is cached only for speed. */
export interface CompiledSchema {
  schema: JsonObject;
  meter: CheckMeter;
  unique: UniqueItems;
  /** Applies the schema, and stops at the first problem or finds all of them. */
  apply(value: unknown, until: 'first' | 'all'): ValidationResult;
}

const compiled = new WeakMap<JsonObject, CompiledSchema>();

/** Returns the prepared schema, and prepares each schema once. */
export function compiledSchema(schema: JsonObject): CompiledSchema {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = compile(schema);
  compiled.set(schema, made);
  return made;
}

function compile(schema: JsonObject): CompiledSchema {
  // The validator modifies its schema, and a snapshot must not be modified.
  const checked = JSON.parse(JSON.stringify(prepare(schema))) as JsonObject;
  const schemas = dereference(checked);
  const meter = new CheckMeter();
  meter.watch(schemas);
  const unique = new UniqueItems();
  unique.watch(schemas);
  return {
    schema: checked,
    meter,
    unique,
    apply: (value, until) => validate(value, checked, '2020-12', schemas, until === 'first'),
  };
}

/** The types of JSON. A schema from an MCP server may name others, which cannot be checked. */
const TYPES: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];

/**
 * Hides formats and unknown types from the validator, bounds the length of texts for patterns, and puts fields with a fixed value
 * first, because they tell the choices of a union apart at once.
 */
function prepare(schema: JsonObject): JsonObject {
  const { format, type, ...others } = boundedPattern(withoutNotes(mapSubschemas(schema, prepare)));
  const rest = isKnown(type) ? { ...others, type } : others;
  const named = format === undefined ? rest : { ...rest, 'x-format': format };
  if (rest['properties'] === undefined) return named;
  const entries = Object.entries(propertiesOf(rest));
  const isFixed = ([, property]: [string, JsonValue]): boolean => isJsonObject(property) && 'const' in property;
  return { ...named, properties: Object.fromEntries([...entries.filter(isFixed), ...entries.filter((entry) => !isFixed(entry))]) };
}

/** Removes the keywords that are only for people and models to read. */
function withoutNotes({
  description: _description,
  title: _title,
  default: _default,
  examples: _examples,
  ...rest
}: JsonObject): JsonObject {
  return rest;
}

function isKnown(type: JsonValue | undefined): type is JsonValue {
  return Array.isArray(type) ? type.every((one) => TYPES.includes(one)) : TYPES.includes(type);
}
