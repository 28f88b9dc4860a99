import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import { checkJson } from './check-json-schema.ts';
import { acceptsNull, dereference, mapValues, propertiesOf, requiredOf, subschemas, typesOf } from './json-schema.ts';

/**
 * Takes out the nulls that stand for fields left out: a strict provider schema has no optional fields, so
 * `toStrictJsonSchema` makes them nullable. `schema` is the schema before that conversion. A null stays wherever
 * that schema accepts null itself.
 */
export function removeAddedNulls(schema: JsonObject, value: JsonValue): JsonValue {
  return remove(schema, value, schema);
}

function remove(schema: JsonObject, value: JsonValue, root: JsonObject): JsonValue {
  const target = dereference(schema, root);
  if (target === undefined || typeof value !== 'object' || value === null) return value;
  const choices = [...subschemas(target, 'anyOf'), ...subschemas(target, 'oneOf')];
  if (choices.length > 0) return removeByChoice(choices, value, root);
  if (Array.isArray(value)) {
    const { items } = target;
    return items !== undefined && isJsonObject(items) ? value.map((item) => remove(items, item, root)) : value;
  }
  return removeFromObject(target, value, root);
}

function removeFromObject(schema: JsonObject, value: JsonObject, root: JsonObject): JsonObject {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const propertyOf = (key: string): JsonObject | undefined => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return property !== undefined && isJsonObject(property) ? property : undefined;
  };
  const isAdded = (key: string): boolean => {
    const property = propertyOf(key);
    return property !== undefined && value[key] === null && !required.includes(key) && !acceptsNull(property, root);
  };
  const kept = Object.fromEntries(Object.entries(value).filter(([key]) => !isAdded(key)));
  return mapValues(kept, (one, key) => {
    const property = propertyOf(key);
    return property === undefined ? one : remove(property, one, root);
  });
}

/** The nulls of the choice that the value belongs to; trying each one in full only where it is not plain which that is. */
function removeByChoice(choices: JsonObject[], value: JsonObject | JsonValue[], root: JsonObject): JsonValue {
  const plausible = choices.filter((choice) => mayBe(choice, value, root));
  const [only] = plausible;
  if (only !== undefined && plausible.length === 1) return remove(only, value, root);
  for (const choice of plausible) {
    const removed = remove(choice, value, root);
    if (checkJson({ ...choice, ...definitions(root) }, removed).length === 0) return removed;
  }
  return value;
}

/** False where the type, or a field that the choice fixes, says that another choice is meant. */
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

function definitions(root: JsonObject): JsonObject {
  return root['$defs'] === undefined ? {} : { $defs: root['$defs'] };
}
