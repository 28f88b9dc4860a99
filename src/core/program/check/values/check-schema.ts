import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json/json.ts';
import { dereference, mapSubschemas } from '../../../json-schema/json-schema.ts';
import { type Problems, quoted } from '../problems.ts';
import { addJsonProblems } from '../shape/check-part.ts';
import { SCHEMA_SCHEMA } from './schema-schema.ts';

/** Checks that a value of the document is a JSON Schema that can be applied. Values that are no objects have a problem already. */
export function checkSchema(value: JsonValue | undefined, path: string, problems: Problems): void {
  if (value === undefined || !isJsonObject(value)) return;
  addJsonProblems(SCHEMA_SCHEMA, { value, path }, problems);
  for (const schema of schemasIn(value)) {
    const { $ref, pattern } = schema;
    if (typeof $ref === 'string' && !leadsSomewhere(schema, value)) problems.add(path, `the "$ref" ${quoted($ref)} leads to no schema`);
    if (typeof pattern === 'string' && !compiles(pattern)) problems.add(path, `the pattern ${quoted(pattern)} is no regular expression`);
    for (const key of keysOf(schema['patternProperties'])) {
      if (!compiles(key)) problems.add(path, `the pattern ${quoted(key)} is no regular expression`);
    }
  }
}

/** Checks the schema of a condition. The workflow applies it, which must not take long: it has no patterns. */
export function checkConditionSchema(value: JsonValue | undefined, path: string, problems: Problems): void {
  checkSchema(value, path, problems);
  if (value === undefined || !isJsonObject(value)) return;
  const keyword = schemasIn(value).flatMap((schema) => ['pattern', 'patternProperties'].filter((name) => name in schema))[0];
  if (keyword !== undefined) problems.add(path, `a condition cannot have "${keyword}": compare with "const", "enum" or bounds`);
}

/** Lists a schema and all schemas inside it. */
function schemasIn(root: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  const open = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    found.push(schema);
    mapSubschemas(schema, (inner) => {
      open.push(inner);
      return inner;
    });
  }
  return found;
}

function leadsSomewhere(schema: JsonObject, root: JsonObject): boolean {
  try {
    return dereference(schema, root) !== undefined;
  } catch {
    return false;
  }
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function keysOf(value: JsonValue | undefined): string[] {
  return value !== undefined && isJsonObject(value) ? Object.keys(value) : [];
}
