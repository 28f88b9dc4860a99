import { checkJson, type JsonProblem } from '../../../../src/core/json-schema/check-json-schema.ts';
import type { Operation } from '../adapter.ts';
import { object } from '../fields.ts';

/** Arguments against a schema. */
export const validateArguments: Operation = {
  input: ['schema', 'args'],
  expect: ['ok', 'error_text', 'fields'],
  perform: ({ schema, args = null }) => {
    const problems = checkJson(object(schema), args);
    return problems.length === 0 ? { ok: true } : { error_text: validationText(problems), fields: problems.map(fieldOf) };
  },
};

const REFUSED = /^Invalid arguments for '(.*?)': (.*)$/s;

/** Returns the product's text about a call with invalid arguments in the words of Nous; undefined for any other text. */
export function invalidArgumentsText(text: string): string | undefined {
  const [, name, problems] = REFUSED.exec(text) ?? [];
  return problems === undefined ? undefined : `Invalid arguments for '${name}': ${validationText(problems.split('; ').map(readProblem))}`;
}

function readProblem(text: string): JsonProblem {
  const [, path = '', message = text] = /^([^\s:]+): (.*)$/s.exec(text) ?? [];
  return { path, message };
}

/** Nous names the missing fields first, and alone if there are any. */
function validationText(problems: readonly JsonProblem[]): string {
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
