import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { checkJson } from './check-json-schema.ts';
import { compiledSchema } from './compiled-schema.ts';
import { acceptsNull, dereference, mapValues, propertiesOf, requiredOf, subschemas, typesOf } from './json-schema.ts';

/**
 * Removes the nulls that stand for omitted fields: a strict provider schema has no optional fields, so `toStrictJsonSchema` makes
 * them nullable. `schema` is the schema before that conversion. A null stays if that schema accepts null itself.
 */
export function removeAddedNulls(schema: JsonObject, value: JsonValue): JsonValue {
  return remove(schema, value, { root: schema, units: REMOVAL_UNITS.any + REMOVAL_UNITS.perCharacter * JSON.stringify(value).length });
}

/** Units of work that trying choices may take: the work doubles with every level in a schema that refers to itself in several choices. */
const REMOVAL_UNITS = { any: 100_000, perCharacter: 20 };

/** One removal, with the units of work that are left. */
interface Removal {
  root: JsonObject;
  units: number;
}

function remove(schema: JsonObject, value: JsonValue, removal: Removal): JsonValue {
  const { root } = removal;
  const target = dereference(schema, root);
  if (target === undefined || typeof value !== 'object' || value === null) return value;
  const choices = [...subschemas(target, 'anyOf'), ...subschemas(target, 'oneOf')];
  if (choices.length > 0) return removeByChoice(choices, value, removal);
  if (Array.isArray(value)) {
    const { items } = target;
    return items !== undefined && isJsonObject(items) ? value.map((item) => remove(items, item, removal)) : value;
  }
  return removeFromObject(target, value, removal);
}

function removeFromObject(schema: JsonObject, value: JsonObject, removal: Removal): JsonObject {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const propertyOf = (key: string): JsonObject | undefined => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return property !== undefined && isJsonObject(property) ? property : undefined;
  };
  const isAdded = (key: string): boolean => {
    const property = propertyOf(key);
    return property !== undefined && value[key] === null && !required.includes(key) && !acceptsNull(property, removal.root);
  };
  const kept = Object.fromEntries(Object.entries(value).filter(([key]) => !isAdded(key)));
  return mapValues(kept, (one, key) => {
    const property = propertyOf(key);
    return property === undefined ? one : remove(property, one, removal);
  });
}

/** Removes the nulls by the choice that the value belongs to. Tries several choices in full only if more than one is plausible. */
function removeByChoice(choices: JsonObject[], value: JsonObject | JsonValue[], removal: Removal): JsonValue {
  const { root } = removal;
  const plausible = choices.filter((choice) => mayBe(choice, value, root));
  const [only] = plausible;
  if (only !== undefined && plausible.length === 1) return remove(only, value, removal);
  for (const choice of plausible) {
    const removed = remove(choice, value, removal);
    if (removal.units < 0) return value;
    const whole = wholeChoice(choice, root);
    const fits = checkJson(whole, removed).length === 0;
    removal.units -= 1 + compiledSchema(whole).meter.spent;
    if (fits) return removed;
  }
  return value;
}

/** False if the type, or a field with a fixed value, rules the choice out. */
function mayBe(choice: JsonObject, value: JsonObject | JsonValue[], root: JsonObject): boolean {
  const target = dereference(choice, root);
  if (target === undefined) return false;
  const types = typesOf(target);
  if (types.length > 0 && !types.includes(Array.isArray(value) ? 'array' : 'object')) return false;
  if (Array.isArray(value)) return true;
  return Object.entries(propertiesOf(target)).every(([key, property]) => {
    if (!isJsonObject(property) || !('const' in property)) return true;
    return Object.hasOwn(value, key) && value[key] === property['const'];
  });
}

/** Complete choices by choice and by the schema that contains it: each is prepared once, not for every value. */
const wholeChoices = new WeakMap<JsonObject, WeakMap<JsonObject, JsonObject>>();

/** Returns a choice together with the definitions that it refers to. */
function wholeChoice(choice: JsonObject, root: JsonObject): JsonObject {
  const byRoot = wholeChoices.get(choice) ?? new WeakMap<JsonObject, JsonObject>();
  wholeChoices.set(choice, byRoot);
  const whole = byRoot.get(root) ?? { ...choice, ...(root['$defs'] === undefined ? {} : { $defs: root['$defs'] }) };
  byRoot.set(root, whole);
  return whole;
}
