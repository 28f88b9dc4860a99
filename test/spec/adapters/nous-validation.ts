import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { checkJson, type JsonProblem } from '../../../src/core/json-schema/check-json-schema.ts';
import { object } from './fields.ts';

/** The operation `tool.validate`: arguments against a schema. */
export function validate({ schema, args }: JsonObject): JsonValue {
  const problems = checkJson(object(schema ?? {}), args ?? {});
  if (problems.length === 0) return { ok: true };
  return { error_text: validationText(problems), fields: problems.map(fieldOf) };
}

/** The problems in the words of Nous: the fields that are missing first, and alone where there are some. */
export function validationText(problems: readonly JsonProblem[]): string {
  const missing = problems.filter(isMissing);
  if (missing.length > 0) return `Missing required fields: ${missing.map(fieldOf).join(', ')}`;
  return `Type mismatch: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`;
}

const MISSING = /^missing required field "(.*)"$/;

function isMissing({ message }: JsonProblem): boolean {
  return MISSING.test(message);
}

function fieldOf({ path, message }: JsonProblem): string {
  const [, name] = MISSING.exec(message) ?? [];
  return name === undefined ? path : [path, name].filter((part) => part !== '').join('.');
}
