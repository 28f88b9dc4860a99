import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { dereference, propertiesOf, requiredOf, subschemas, typesOf } from '../../json-schema/json-schema.ts';

/** A value without inner structure, as languages can write it as a type. */
export type Scalar = string | number | boolean | null;

/** The part of a JSON Schema that a type of a language can say. */
export type SchemaType =
  | { kind: 'any' | 'null' | 'boolean' | 'string' | 'number' | 'integer' }
  | { kind: 'literal'; values: Scalar[] }
  | { kind: 'list'; item: SchemaType }
  | { kind: 'tuple'; items: SchemaType[] }
  /** `rest` is the type of further fields. Absent: there are none. */
  | { kind: 'object'; fields: Field[]; rest?: SchemaType }
  | { kind: 'union'; choices: SchemaType[] };

export interface Field {
  name: string;
  type: SchemaType;
  optional: boolean;
  description?: string;
  default?: Scalar;
}

export const ANY: SchemaType = { kind: 'any' };
const NULL: SchemaType = { kind: 'null' };

/** Schemas that one conversion reads: one that refers to itself in several places would take time without end. */
const MAX_SCHEMAS = 1_000;

/** One conversion. */
interface Conversion {
  root: JsonObject;
  schemasLeft: number;
  /** The schemas around the present one, which it may refer to. */
  around: JsonObject[];
  depth: number;
}

/** Returns the type that a schema describes. Inside `depth` levels of objects and lists, all further ones are any value. */
export function schemaType(schema: JsonObject, depth: number): SchemaType {
  return typeOf(schema, { root: schema, schemasLeft: MAX_SCHEMAS, around: [], depth });
}

function typeOf(schema: JsonValue | undefined, conversion: Conversion): SchemaType {
  if (schema === undefined || !isJsonObject(schema)) return ANY;
  const { root, around } = conversion;
  const target = dereference(schema, root);
  if (target === undefined || around.includes(target) || conversion.schemasLeft <= 0) return ANY;
  conversion.schemasLeft -= 1;
  around.push(target);
  const type = wholeType(target, conversion);
  around.pop();
  return target['nullable'] === true ? union([type, NULL]) : type;
}

function wholeType(schema: JsonObject, conversion: Conversion): SchemaType {
  const parts = subschemas(schema, 'allOf').map((part) => typeOf(part, conversion));
  const choices = [...subschemas(schema, 'anyOf'), ...subschemas(schema, 'oneOf')].map((choice) => typeOf(choice, conversion));
  const chosen = choices.length === 0 ? ANY : union(choices);
  return [...parts, chosen].reduce(both, ownType(schema, conversion));
}

/** Returns the type that the schema describes without its combinations. */
function ownType(schema: JsonObject, conversion: Conversion): SchemaType {
  if (Object.hasOwn(schema, 'const')) return literal([schema['const'] ?? null]);
  if (Array.isArray(schema['enum'])) return literal(schema['enum']);
  const types = typesOf(schema);
  return types.length === 0
    ? typeByKeywords(schema, conversion)
    : union(types.filter((type) => !(type === 'integer' && types.includes('number'))).map((type) => typeByName(type, schema, conversion)));
}

function typeByKeywords(schema: JsonObject, conversion: Conversion): SchemaType {
  if (schema['properties'] !== undefined || schema['patternProperties'] !== undefined || isSchema(schema['additionalProperties'])) {
    return objectType(schema, conversion);
  }
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? ANY : listType(schema, conversion);
}

function typeByName(name: string, schema: JsonObject, conversion: Conversion): SchemaType {
  switch (name) {
    case 'object':
      return objectType(schema, conversion);
    case 'array':
      return listType(schema, conversion);
    case 'null':
    case 'boolean':
    case 'string':
    case 'number':
    case 'integer':
      return { kind: name };
    default:
      return ANY;
  }
}

function literal(values: readonly JsonValue[]): SchemaType {
  const scalars = values.filter((value): value is Scalar => typeof value !== 'object' || value === null);
  return scalars.length === 0 || scalars.length < values.length ? ANY : { kind: 'literal', values: [...new Set(scalars)] };
}

function listType(schema: JsonObject, conversion: Conversion): SchemaType {
  if (conversion.depth <= 0) return { kind: 'list', item: ANY };
  return deeper(conversion, () => {
    const first = subschemas(schema, 'prefixItems');
    if (first.length > 0) return { kind: 'tuple', items: first.map((item) => typeOf(item, conversion)) };
    return { kind: 'list', item: typeOf(schema['items'], conversion) };
  });
}

function objectType(schema: JsonObject, conversion: Conversion): SchemaType {
  const properties = Object.entries(propertiesOf(schema));
  const patterns = isSchema(schema['patternProperties']) ? Object.values(schema['patternProperties']) : [];
  const { additionalProperties } = schema;
  // An object whose properties are listed may have others, but its author does not mean any.
  const isOpen =
    additionalProperties === true || (additionalProperties === undefined && schema['properties'] === undefined && patterns.length === 0);
  if (conversion.depth <= 0) return { kind: 'object', fields: [], ...(properties.length > 0 || isOpen ? { rest: ANY } : {}) };
  return deeper(conversion, () => {
    const required = requiredOf(schema);
    const fields = properties.map(([name, property]) => field(name, property, { required, conversion }));
    const others = [...patterns, ...(isSchema(additionalProperties) ? [additionalProperties] : [])].map((one) => typeOf(one, conversion));
    const rest = others.length > 0 ? union(others) : ANY;
    return { kind: 'object', fields, ...(others.length > 0 || isOpen ? { rest } : {}) };
  });
}

function field(name: string, property: JsonValue, { required, conversion }: { required: string[]; conversion: Conversion }): Field {
  const target = isJsonObject(property) ? { ...dereference(property, conversion.root), ...property } : {};
  const { description, default: value } = target;
  return {
    name,
    type: typeOf(property, conversion),
    optional: !required.includes(name),
    ...(typeof description === 'string' && description.trim() !== '' ? { description } : {}),
    ...(value === undefined || (typeof value === 'object' && value !== null) ? {} : { default: value }),
  };
}

function deeper(conversion: Conversion, convert: () => SchemaType): SchemaType {
  conversion.depth -= 1;
  const type = convert();
  conversion.depth += 1;
  return type;
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}

/** Returns the type of values that have one of the types. */
function union(types: readonly SchemaType[]): SchemaType {
  const flat = types.flatMap((type) => (type.kind === 'union' ? type.choices : [type]));
  if (flat.length === 0 || flat.some(({ kind }) => kind === 'any')) return ANY;
  const literals = flat.flatMap((type) => (type.kind === 'literal' ? type.values : []));
  const others = new Map(flat.filter(({ kind }) => kind !== 'literal').map((type) => [JSON.stringify(type), type]));
  const choices = [...(literals.length === 0 ? [] : [literal(literals)]), ...others.values()];
  const [only] = choices;
  return only !== undefined && choices.length === 1 ? only : { kind: 'union', choices };
}

/** Returns the type of values that have both types; the first of two that a language cannot say together. */
function both(one: SchemaType, other: SchemaType): SchemaType {
  if (one.kind === 'any') return other;
  if (other.kind === 'any') return one;
  if (one.kind === 'object' && other.kind === 'union') return union(other.choices.map((choice) => both(one, choice)));
  return one.kind === 'object' && other.kind === 'object' ? bothObjects(one, other) : one;
}

function bothObjects(one: SchemaType & { kind: 'object' }, other: SchemaType & { kind: 'object' }): SchemaType {
  const fields = new Map(one.fields.map((known) => [known.name, known]));
  for (const added of other.fields) {
    const known = fields.get(added.name);
    const merged = {
      ...added,
      ...known,
      type: both(known?.type ?? ANY, added.type),
      optional: added.optional && (known?.optional ?? true),
    };
    fields.set(added.name, merged);
  }
  const rest = one.rest === undefined || other.rest === undefined ? undefined : both(one.rest, other.rest);
  return { kind: 'object', fields: [...fields.values()], ...(rest === undefined ? {} : { rest }) };
}
