import { canonicalJson, defined, isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { dereference, mapSubschemas, propertiesOf, requiredOf, subschemas, typesOf } from '../core/json-schema/json-schema.ts';

/** The property names that every provider accepts. Anthropic refuses the whole request for any other. */
export const PORTABLE_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** The bounds of a converted schema: schemas in it, levels, and how often a reference is followed inside itself. */
const MAX_SCHEMAS = 1_000;
const MAX_DEPTH = 12;
const MAX_REPEATS = 2;

/** The most values of an enumeration, and the most characters of a note. */
const MAX_VALUES = 250;
const MAX_NOTE = 400;

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** The keywords that imply a type, to recognize the type of a schema without one. */
const HINTS: readonly [type: string, keywords: readonly string[]][] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
  ['string', ['pattern', 'minLength', 'maxLength', 'format']],
];

/** A position in the schema that is converted. */
interface Place {
  root: JsonObject;
  /** The references that lead here. */
  references: readonly string[];
  depth: number;
  count: { schemas: number };
}

/**
 * Converts the schema of a tool's arguments, or of an answer, to a form that every provider accepts: an object with `properties` and no
 * union at the root, references resolved in place, items for every list, one type for each value, and only keywords that no provider
 * refuses. All other parts are described in the description. The result accepts at least the values that the schema accepts: values are
 * checked against the whole schema. A schema of a type other than object keeps its type: it is sent inside another schema.
 */
export function portableSchema(schema: JsonObject): JsonObject {
  const place: Place = { root: schema, references: [], depth: 0, count: { schemas: 0 } };
  if (schema['type'] !== 'object') return converted(schema, place);
  const { merged, place: at } = flattened(schema, place);
  const { whole, form, notes } = objectForm(merged, at);
  return described(whole, notes, form);
}

/** The form of an object schema, and notes about what it leaves out. */
interface ObjectForm {
  /** The schema, with the alternatives of its unions as optional properties. */
  whole: JsonObject;
  form: JsonObject;
  notes: string[];
}

function objectForm(schema: JsonObject, place: Place): ObjectForm {
  const { whole, notes } = withAlternatives(schema, place);
  const given = propertiesOf(whole);
  const required = [...new Set(requiredOf(whole))];
  const all = new Map(Object.entries(given).filter(([, property]) => property !== false));
  for (const name of required) if (!all.has(name)) all.set(name, {});
  const named = [...all].filter(([name]) => PORTABLE_NAME.test(name));
  const others = [...all].filter(([name]) => !PORTABLE_NAME.test(name));
  const inner = below(place);
  const properties = Object.fromEntries(named.map(([name, property]) => [name, nonEmpty(converted(property, inner))]));
  for (const [name, property] of others) {
    notes.push(
      `also takes the field ${JSON.stringify(name)}${required.includes(name) ? ', which is required' : ''}: ${brief(property, inner)}`,
    );
  }
  notes.push(...notesOfObject(whole, inner));
  const isClosed = whole['additionalProperties'] === false && others.length === 0 && !isJsonObject(whole['patternProperties']);
  const sent = required.filter((name) => PORTABLE_NAME.test(name));
  const form = {
    type: 'object',
    properties,
    ...(sent.length === 0 ? {} : { required: sent }),
    ...(isClosed ? { additionalProperties: false } : {}),
  };
  return { whole, form, notes };
}

function notesOfObject({ additionalProperties, patternProperties }: JsonObject, place: Place): string[] {
  const notes: string[] = [];
  if (isJsonObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    notes.push(`fields of any other name, each: ${brief(additionalProperties, place)}`);
  }
  if (isJsonObject(patternProperties)) {
    for (const [pattern, one] of Object.entries(patternProperties)) notes.push(`fields that match ${pattern}: ${brief(one, place)}`);
  }
  return notes;
}

/** Converts any schema. */
function converted(schema: JsonValue | undefined, place: Place): JsonObject {
  place.count.schemas += 1;
  if (schema === undefined || !isJsonObject(schema)) return {};
  if (place.depth > MAX_DEPTH || place.count.schemas > MAX_SCHEMAS) return annotations(schema);
  const { merged, place: at } = flattened(schema, place);
  const values = valuesOf(merged);
  const types = typesOfSchema(merged, values);
  const choices = choicesOf(merged);
  if (choices.length > 0 && values === undefined && types.length === 0) return unionOf(merged, choices, at);
  if (types.length === 0) return annotations(merged);
  return joined(
    merged,
    types.map((type) => typed(type, merged, { values, place: at })),
  );
}

/** Joins the forms of a schema, one for each type, to one schema. */
function joined(schema: JsonObject, forms: JsonObject[]): JsonObject {
  const distinct = [...new Map(withOneEnum(forms).map((form) => [canonicalJson(form), form])).values()];
  const [only, ...others] = distinct;
  if (only === undefined) return annotations(schema);
  if (others.length === 0) return described(schema, [], only);
  const values = distinct.filter(({ type }) => type !== 'null');
  const [value] = values;
  const isNullable = values.length < distinct.length;
  const isPlain =
    values.length === 1 && typeof value?.['type'] === 'string' && !['object', 'array'].includes(value['type']) && !('enum' in value);
  if (isNullable && isPlain) return described(schema, [], { ...value, type: [value['type'] ?? 'string', 'null'] });
  return described(schema, [], { anyOf: distinct });
}

/** Joins the values of forms that only list texts: the kinds of a union are easier to read as one list. */
function withOneEnum(forms: readonly JsonObject[]): JsonObject[] {
  const isList = (form: JsonObject): boolean => Array.isArray(form['enum']) && Object.keys(form).length === 2;
  const texts = [...new Set(forms.filter(isList).flatMap((form) => (Array.isArray(form['enum']) ? form['enum'] : [])))];
  if (texts.length === 0) return [...forms];
  return [{ type: 'string', enum: texts }, ...forms.filter((form) => !isList(form))];
}

/** Returns the union of choices, if none of them accepts any value. */
function unionOf(schema: JsonObject, choices: readonly JsonValue[], place: Place): JsonObject {
  const forms = choices.map((choice) => converted(choice, below(place)));
  if (forms.some((form) => !('type' in form) && !('anyOf' in form))) return described(schema, forms.flatMap(descriptionOf), {});
  const flat = forms.flatMap((form) => {
    const { anyOf, description, ...rest } = form;
    return Array.isArray(anyOf) && Object.keys(rest).length === 0 && description === undefined ? anyOf.filter(isJsonObject) : [form];
  });
  return joined(
    schema,
    flat.flatMap((form) =>
      Array.isArray(form['type']) ? form['type'].map((type) => (type === 'null' ? { type } : { ...form, type })) : [form],
    ),
  );
}

function descriptionOf({ description }: JsonObject): string[] {
  return typeof description === 'string' ? [description] : [];
}

/** What is known of the values of a schema. */
interface Known {
  values: readonly JsonValue[] | undefined;
  place: Place;
}

/** Returns the part of a schema that concerns values of one type. */
function typed(type: string, schema: JsonObject, { values, place }: Known): JsonObject {
  const listed = values?.filter((value) => isOfType(value, type));
  const notes = notesOf(type, schema);
  if (listed !== undefined && type !== 'string' && type !== 'null' && type !== 'boolean') notes.push(oneOf(listed));
  if (listed !== undefined && type === 'boolean' && listed.length === 1) notes.push(oneOf(listed));
  switch (type) {
    case 'object': {
      const { form, notes: about } = objectForm(schema, place);
      return withNotes(form, [...about, ...notes]);
    }
    case 'array':
      return withNotes({ type, ...itemsOf(schema, below(place), notes), ...counts(schema, ['minItems', 'maxItems']) }, notes);
    case 'string': {
      const texts = [...new Set((listed ?? []).filter((value) => typeof value === 'string' && value !== ''))];
      // Gemini refuses an empty text in an enumeration.
      const isListed = listed !== undefined && texts.length > 0 && texts.length === new Set(listed).size && texts.length <= MAX_VALUES;
      if (listed !== undefined && !isListed) notes.push(oneOf(listed));
      return withNotes({ type, ...textKeywords(schema), ...(isListed ? { enum: texts } : {}) }, notes);
    }
    case 'number':
    case 'integer':
      return withNotes({ type, ...bounds(schema) }, notes);
    default:
      return withNotes({ type }, notes);
  }
}

/** Returns the schema of a list's items. Tuple items become alternatives, with a note about their order. */
function itemsOf(schema: JsonObject, place: Place, notes: string[]): JsonObject {
  const { prefixItems, items } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple === undefined) return { items: nonEmpty(converted(items, place)) };
  const rest = Array.isArray(items) ? schema['additionalItems'] : items;
  const forms = tuple.map((item) => converted(item, place));
  notes.push(clipped(`items in this order: ${tuple.map((item) => brief(item, place)).join('; ')}`));
  const isOpen = rest === undefined || rest === true;
  if (isOpen && typeof schema['maxItems'] !== 'number') return { items: nonEmpty({}) };
  const further = isJsonObject(rest) ? [converted(rest, place)] : [];
  const all = [...forms, ...further];
  if (all.length === 0 || all.some((form) => !('type' in form) && !('anyOf' in form))) return { items: nonEmpty({}) };
  return { items: nonEmpty(joined({}, all)), ...(rest === false ? { maxItems: tuple.length } : {}) };
}

/** Replaces an empty schema, which Gemini treats as missing. */
function nonEmpty(schema: JsonObject): JsonObject {
  return Object.keys(schema).length === 0 ? { description: 'Any value' } : schema;
}

function textKeywords(schema: JsonObject): JsonObject {
  const { format, pattern } = schema;
  return {
    ...counts(schema, ['minLength', 'maxLength']),
    // The only format that every provider accepts.
    ...(format === 'date-time' ? { format } : {}),
    ...(typeof pattern === 'string' && format === undefined && isPortable(pattern) ? { pattern } : {}),
  };
}

/** True for a pattern that compiles, without look-around, named groups and back references, which the engines of providers lack. */
function isPortable(pattern: string): boolean {
  if (/\(\?[^:]|\\[1-9kpP]/.test(pattern) || pattern.length > 500) return false;
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function counts(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(
    keywords.flatMap((keyword) => {
      const value = schema[keyword];
      return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? [[keyword, value]] : [];
    }),
  );
}

function bounds(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    ['minimum', 'maximum'].flatMap((keyword) => {
      const value = schema[keyword];
      return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? [[keyword, value]] : [];
    }),
  );
}

/** Returns notes for the model about the parts of a schema that not every provider accepts. */
function notesOf(type: string, schema: JsonObject): string[] {
  const notes: string[] = [];
  const note = (keyword: string, words: string): void => {
    const value = schema[keyword];
    if (typeof value === 'number' || typeof value === 'string') notes.push(clipped(`${words} ${value}`));
  };
  if (type === 'string') {
    if (schema['format'] !== 'date-time') note('format', 'format:');
    if (schema['format'] === undefined && typeof schema['pattern'] === 'string' && !isPortable(schema['pattern']))
      note('pattern', 'pattern:');
    note('contentEncoding', 'encoding:');
  }
  if (type === 'number' || type === 'integer') {
    note('exclusiveMinimum', 'greater than');
    note('exclusiveMaximum', 'less than');
    note('multipleOf', 'a multiple of');
  }
  if (type === 'array' && schema['uniqueItems'] === true) notes.push('no item twice');
  return notes;
}

function oneOf(values: readonly JsonValue[]): string {
  const texts = values.map((value) => JSON.stringify(value));
  return texts.length === 1 ? clipped(`always ${texts[0]}`) : clipped(`one of: ${texts.join(', ')}`);
}

/** Describes a schema in a few words. */
function brief(schema: JsonValue | undefined, place: Place): string {
  const form = converted(schema, place);
  const { type, description, ...rest } = form;
  if (Object.keys(form).length === 0) return 'any value';
  const words = Object.keys(rest).length === 0 && typeof type === 'string' ? type : JSON.stringify({ ...defined({ type }), ...rest });
  return clipped(typeof description === 'string' ? `${words} (${description})` : words);
}

function clipped(text: string): string {
  return text.length <= MAX_NOTE ? text : `${text.slice(0, MAX_NOTE).toWellFormed()}…`;
}

/** Returns the description and the title of a schema, and nothing else. */
function annotations(schema: JsonObject): JsonObject {
  return described(schema, [], {});
}

function described(schema: JsonObject, notes: readonly string[], form: JsonObject): JsonObject {
  const { title, description, default: preset, examples } = schema;
  const own: JsonObject = {};
  if (typeof title === 'string') own['title'] = title;
  const texts = [description, form['description']].filter((text): text is string => typeof text === 'string' && text !== '');
  if (texts.length > 0) own['description'] = texts.join(' ');
  const { description: _description, ...rest } = form;
  const all = [...notes];
  if (preset !== undefined && preset !== null) all.push(clipped(`default: ${JSON.stringify(preset)}`));
  if (Array.isArray(examples) && examples.length > 0) all.push(clipped(`for example: ${JSON.stringify(examples.slice(0, 3))}`));
  return { ...withNotes(own, all), ...rest };
}

function below(place: Place): Place {
  return { ...place, depth: place.depth + 1 };
}

/** Follows the reference of a schema and merges its `allOf`, as far as that is possible. */
function flattened(schema: JsonObject, place: Place): { merged: JsonObject; place: Place } {
  let merged = schema;
  let at = place;
  for (let hops = 0; typeof merged['$ref'] === 'string' && hops < 50; hops += 1) {
    const { $ref: reference, ...rest } = merged;
    const known = at.references.filter((one) => one === reference).length;
    const target = known < MAX_REPEATS ? dereference({ $ref: reference }, at.root) : undefined;
    if (target === undefined) return { merged: annotations(rest), place: at };
    at = { ...at, references: [...at.references, reference] };
    merged = bothOf(target, rest);
  }
  const { allOf, ...rest } = merged;
  if (!Array.isArray(allOf)) return { merged, place: at };
  let whole: JsonObject = rest;
  for (const part of allOf) {
    at.count.schemas += 1;
    if (!isJsonObject(part) || at.count.schemas > MAX_SCHEMAS || at.depth > MAX_DEPTH) continue;
    const inner = flattened(part, below(at));
    at = { ...at, references: [...new Set([...at.references, ...inner.place.references])] };
    whole = bothOf(whole, inner.merged);
  }
  return { merged: whole, place: at };
}

/** Returns a schema for values that fit both. Where they differ, it keeps fewer constraints, and so accepts more. */
function bothOf(a: JsonObject, b: JsonObject): JsonObject {
  const both: JsonObject = { ...a };
  for (const [keyword, value] of Object.entries(b)) {
    const known = both[keyword];
    if (known === undefined || ['description', 'title', 'default', 'examples'].includes(keyword)) both[keyword] = value;
    else if (keyword === 'properties' && isJsonObject(known) && isJsonObject(value)) both[keyword] = bothProperties(known, value);
    else if (keyword === 'required') both[keyword] = [...new Set([...requiredOf(both), ...requiredOf(b)])];
    else if (keyword === 'type') both[keyword] = commonTypes(typesOf(both), typesOf(b));
    else if (keyword === 'anyOf' || keyword === 'oneOf') {
      if (canonicalJson(known) !== canonicalJson(value)) delete both[keyword];
    } else if (canonicalJson(known) !== canonicalJson(value)) delete both[keyword];
  }
  // Each part closes the object only for its own properties.
  if (a['properties'] !== undefined && b['properties'] !== undefined) delete both['additionalProperties'];
  if (both['additionalProperties'] === false && (a['properties'] === undefined) !== (b['properties'] === undefined)) {
    const closing = a['additionalProperties'] === false ? a : b;
    if (closing['properties'] === undefined) delete both['additionalProperties'];
  }
  return both;
}

function bothProperties(a: JsonObject, b: JsonObject): JsonObject {
  const both = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const known = Object.hasOwn(both, name) ? both[name] : undefined;
    both[name] = isJsonObject(known) && isJsonObject(value) ? { allOf: [known, value] } : value;
  }
  return both;
}

function commonTypes(a: readonly string[], b: readonly string[]): JsonValue {
  const common = a.filter((type) => b.includes(type) || (type === 'integer' && b.includes('number')));
  if (b.includes('integer') && a.includes('number') && !common.includes('integer')) common.push('integer');
  return common.length === 0 ? [...a, ...b] : common;
}

/** Returns an object schema whose unions are optional properties, and notes about the alternatives. */
function withAlternatives(schema: JsonObject, place: Place): { whole: JsonObject; notes: string[] } {
  const { anyOf, oneOf: exactlyOne, then, else: otherwise, dependentSchemas, ...rest } = schema;
  const notes: string[] = [];
  let whole: JsonObject = rest;
  for (const union of [anyOf, exactlyOne]) {
    if (!Array.isArray(union)) continue;
    const branches = union.filter(isJsonObject).map((branch) => flattenedBranch(branch, place));
    const objects = branches.filter((branch) => typesOf(branch).length === 0 || typesOf(branch).includes('object'));
    if (objects.length === 0) continue;
    whole = withBranches(whole, objects, objects.length === union.length);
    const forms = objects.map(formOf).filter((form) => form !== undefined);
    if (forms.length === objects.length) notes.push(clipped(`takes one of these forms: ${[...new Set(forms)].join(' or ')}`));
  }
  const conditional = [then, otherwise, ...(isJsonObject(dependentSchemas) ? Object.values(dependentSchemas) : [])].filter(isJsonObject);
  if (conditional.length > 0)
    whole = withBranches(
      whole,
      conditional.map((one) => flattenedBranch(one, place)),
      false,
    );
  return { whole, notes };
}

/** Returns a branch of a union with the properties of the unions inside it. */
function flattenedBranch(branch: JsonObject, place: Place): JsonObject {
  const { merged, place: at } = flattened(branch, below(place));
  at.count.schemas += 1;
  if (at.depth > MAX_DEPTH || at.count.schemas > MAX_SCHEMAS) return annotations(merged);
  const { anyOf, oneOf: exactlyOne, then, else: otherwise } = merged;
  const isPlain = anyOf === undefined && exactlyOne === undefined && then === undefined && otherwise === undefined;
  return isPlain ? merged : withAlternatives(merged, at).whole;
}

/** Adds the properties of alternatives. What all of them require stays required if no alternative was left out. */
function withBranches(schema: JsonObject, branches: readonly JsonObject[], isComplete: boolean): JsonObject {
  const own = propertiesOf(schema);
  const found = new Map<string, JsonValue[]>();
  for (const branch of branches) {
    for (const [name, property] of Object.entries(propertiesOf(branch))) found.set(name, [...(found.get(name) ?? []), property]);
  }
  const properties = { ...own };
  let isWider = false;
  for (const [name, forms] of found) {
    const known = Object.hasOwn(own, name) ? own[name] : undefined;
    // An empty own schema gives way to the schemas of the branches, if each has one.
    const isEverywhere = isComplete && forms.length === branches.length;
    if (
      known !== undefined &&
      (!isEverywhere || !isJsonObject(known) || typesOf(known).length > 0 || Object.keys(known).some(isStructural))
    )
      continue;
    isWider ||= known === undefined;
    const distinct = [...new Map(forms.map((form) => [canonicalJson(form), form])).values()];
    const [only] = distinct;
    const form: JsonValue = distinct.length === 1 && only !== undefined ? only : { anyOf: distinct };
    properties[name] = isJsonObject(known) && isJsonObject(form) ? { ...form, ...known } : form;
  }
  const [first, ...others] = branches.map(requiredOf);
  const common = isComplete ? (first ?? []).filter((name) => others.every((names) => names.includes(name))) : [];
  const required = [...new Set([...requiredOf(schema), ...common])];
  const isClosed =
    isComplete && schema['additionalProperties'] === undefined && branches.every((one) => one['additionalProperties'] === false);
  const { additionalProperties, ...rest } = schema;
  const open = isWider && additionalProperties === false ? {} : defined({ additionalProperties });
  return {
    ...rest,
    ...open,
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(isClosed && Object.keys(own).length === 0 ? { additionalProperties: false } : {}),
  };
}

function isStructural(keyword: string): boolean {
  return ['enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf', 'properties', 'items'].includes(keyword);
}

/** Describes an alternative by the fields that it requires: `{kind: "file", path}`. */
function formOf(branch: JsonObject): string | undefined {
  const properties = propertiesOf(branch);
  const required = requiredOf(branch);
  const names = required.length > 0 ? required : Object.keys(properties);
  if (names.length === 0) return undefined;
  const fields = names.map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const [value, ...others] = (isJsonObject(property) ? valuesOf(property) : undefined) ?? [];
    return value === undefined || others.length > 0 ? name : `${name}: ${JSON.stringify(value)}`;
  });
  return `{${fields.join(', ')}}`;
}

/** Returns the values that a schema lists; undefined if it lists none. */
function valuesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) && schema['enum'].length > 0 ? schema['enum'] : undefined;
}

/** Returns the types of a schema: those that it names, or that its values or its keywords show. */
function typesOfSchema(schema: JsonObject, values: readonly JsonValue[] | undefined): string[] {
  const named = [...new Set(typesOf(schema))].filter((type) => TYPES.includes(type));
  // Every integer is a number.
  const plain = named.includes('number') ? named.filter((type) => type !== 'integer') : named;
  if (values !== undefined) {
    const fitting = plain.filter((type) => values.some((value) => isOfType(value, type)));
    if (fitting.length > 0) return fitting;
    const found = [...new Set(values.map(typeOf))];
    return found.includes('number') ? found.filter((type) => type !== 'integer') : found;
  }
  if (plain.length > 0) return plain;
  const unions = choicesOf(schema);
  for (const [type, keywords] of HINTS) {
    // A text may have a format, and another value too.
    if (keywords.some((keyword) => schema[keyword] !== undefined) && (type === 'object' || unions.length === 0))
      return type === 'object' ? [type] : onlyIfMeant(type, schema);
  }
  return [];
}

/** Limits types to the ones that the keywords are for: keywords of lists and texts formally allow other values. */
function onlyIfMeant(type: string, schema: JsonObject): string[] {
  if (type === 'array') return schema['items'] !== undefined || schema['prefixItems'] !== undefined ? [type] : [];
  return schema['pattern'] !== undefined || schema['minLength'] !== undefined || schema['maxLength'] !== undefined ? [type] : [];
}

function choicesOf({ anyOf, oneOf: exactlyOne }: JsonObject): JsonValue[] {
  const [first, second] = [anyOf, exactlyOne].map((union) => (Array.isArray(union) ? union : []));
  return first !== undefined && first.length > 0 ? first : (second ?? []);
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function isOfType(value: JsonValue, type: string): boolean {
  return typeOf(value) === type || (type === 'number' && typeof value === 'number');
}

/** The formats that providers support. */
const KNOWN_FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];

/** Formats that inform a model although providers do not check them. */
const TELLING_FORMATS = [
  'uri',
  'url',
  'base64',
  'base64url',
  'e164',
  'cidrv4',
  'cidrv6',
  'cuid',
  'cuid2',
  'ulid',
  'nanoid',
  'jwt',
  'emoji',
];

/**
 * Returns a schema for the model: without the long patterns that zod adds to formats. Parts that providers refuse
 * (unknown formats, look-around in patterns, several patterns at once) are described in the description instead.
 * Arguments are still checked against the whole schema.
 */
export function toProviderJsonSchema(schema: JsonObject): JsonObject {
  const inner = mapSubschemas(schema, toProviderJsonSchema);
  const { format, pattern, allOf, ...rest } = inner;
  const notes: string[] = [];
  const kept: JsonObject = {};
  if (typeof format === 'string' && KNOWN_FORMATS.includes(format)) kept['format'] = format;
  if (typeof format === 'string' && TELLING_FORMATS.includes(format)) notes.push(`format: ${format}`);
  if (typeof pattern === 'string' && kept['format'] === undefined && notes.length === 0) {
    if (isPortableKeyword(pattern)) kept['pattern'] = pattern;
    else notes.push(`pattern: ${pattern}`);
  }
  if (allOf !== undefined && !isListOfPatterns(inner)) kept['allOf'] = allOf;
  return { ...withNotes(rest, notes), ...kept };
}

/** Returns the schema with notes for the model at the end of its description. */
export function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const { description } = schema;
  const note = `(${notes.join(', ')})`;
  return { ...schema, description: typeof description === 'string' ? `${description} ${note}` : note };
}

/** True for a pattern without look-around, named groups and back references, which the engines of providers lack. */
function isPortableKeyword(pattern: string): boolean {
  return !/\(\?[^:]|\\[1-9k]/.test(pattern);
}

function isListOfPatterns(schema: JsonObject): boolean {
  return subschemas(schema, 'allOf').every((part) => Object.keys(part).every((keyword) => keyword === 'pattern'));
}
