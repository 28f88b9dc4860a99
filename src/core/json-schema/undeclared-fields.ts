import { isJsonObject, type JsonObject, type JsonValue, memberPath } from '../domain/json.ts';
import { didYouMean } from '../domain/text.ts';
import type { JsonProblem } from './check-json-schema.ts';
import { dereference, propertiesOf, subschemas } from './json-schema.ts';
import { declaredNames } from './read-by-schema.ts';

/**
 * Lists the fields of a person's arguments that a schema does not declare, each with the nearest declared name. Most schemas accept any
 * further field, and the tool would ignore a misspelt one. A field of `given`, the arguments of the model, may stay. A schema that declares
 * nothing, or says what further fields are, accepts any.
 */
export function undeclaredFields(schema: JsonObject, value: JsonObject, given: JsonValue | undefined): JsonProblem[] {
  return fieldsIn(schema, { value, given, root: schema, path: '' });
}

interface Place {
  value: JsonValue;
  given: JsonValue | undefined;
  root: JsonObject;
  path: string;
}

function fieldsIn(schema: JsonObject, { value, given, root, path }: Place): JsonProblem[] {
  const target = dereference(schema, root);
  if (target === undefined || !isJsonObject(value)) return [];
  const names = declaredNames(target, root);
  const known = isJsonObject(given) ? given : {};
  const properties = propertiesOf(target);
  return Object.entries(value).flatMap(([name, member]): JsonProblem[] => {
    const at = memberPath(path, name);
    const below = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (isJsonObject(below)) return fieldsIn(below, { value: member, given: ownMember(known, name), root, path: at });
    if (names.size === 0 || names.has(name) || Object.hasOwn(known, name) || isOpen(target, root)) return [];
    return [{ path, message: `unknown field ${JSON.stringify(name)}${didYouMean(name, [...names])}` }];
  });
}

function ownMember(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** True if a schema, or one of its choices, says what fields of other names are. */
function isOpen(schema: JsonObject, root: JsonObject): boolean {
  const { additionalProperties: others, patternProperties } = schema;
  if (others === true || isJsonObject(others) || patternProperties !== undefined) return true;
  return ['anyOf', 'oneOf', 'allOf'].some((keyword) =>
    subschemas(schema, keyword).some((part) => {
      const target = dereference(part, root);
      return target === undefined || (target === part && isOpen(target, root));
    }),
  );
}
