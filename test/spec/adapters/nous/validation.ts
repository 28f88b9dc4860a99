import { isJsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import { checkJson, type JsonProblem } from '../../../../src/core/json-schema/check-json-schema.ts';
import type { Operation } from '../adapter.ts';
import { object } from '../fields.ts';

/** Arguments against a schema. */
export const validateArguments: Operation = {
  input: ['schema', 'args'],
  expect: ['ok', 'error_text', 'fields'],
  perform: ({ schema, args = null }) => {
    const problems = inTheirOrder(checkJson(object(schema), args));
    // Nous names the missing fields alone, if there are any.
    const missing = problems.filter(isMissing);
    const listed = missing.length > 0 ? missing : problems;
    return problems.length === 0 ? { ok: true } : { error_text: validationText(problems, args), fields: listed.map(fieldOf) };
  },
};

/** Nous lists the problems by field name, or by position in a list; a nested field follows its object. */
function inTheirOrder(problems: readonly JsonProblem[]): JsonProblem[] {
  return problems.toSorted(({ path: one }, { path: other }) => comparePaths(segments(one), segments(other)));
}

function segments(path: string): string[] {
  return path.split(/[.[\]]+/).filter((segment) => segment !== '');
}

function comparePaths([one, ...rest]: string[], [other, ...others]: string[]): number {
  if (one === undefined || other === undefined) return Number(one !== undefined) - Number(other !== undefined);
  if (one === other) return comparePaths(rest, others);
  const areIndexes = /^\d+$/.test(one) && /^\d+$/.test(other);
  return areIndexes ? Number(one) - Number(other) : one < other ? -1 : 1;
}

const REFUSED = /^Invalid arguments for '(.*?)': (.*)$/s;

/** Returns the product's text about a call with invalid arguments in the words of Nous; undefined for any other text. */
export function invalidArgumentsText(text: string, args: JsonValue): string | undefined {
  const [, name, listed] = REFUSED.exec(text) ?? [];
  if (listed === undefined) return undefined;
  const problems = inTheirOrder(listed.split('; ').map(readProblem));
  return `Invalid arguments for '${name}': ${validationText(problems, args)}`;
}

function readProblem(text: string): JsonProblem {
  const [, path = '', message = text] = /^([^\s:]+): (.*)$/s.exec(text) ?? [];
  return { path, message };
}

/** Nous names the missing fields first, and alone if there are any. */
function validationText(problems: readonly JsonProblem[], args: JsonValue): string {
  const missing = problems.filter(isMissing);
  if (missing.length > 0) return `Missing required fields: ${missing.map(fieldOf).join(', ')}`;
  return `Type mismatch: ${problems.map((problem) => `${problem.path}: ${withTheirKind(problem, args)}`).join('; ')}`;
}

const TYPE = /^(expected (?:string|integer|number|boolean|array|object|null), got )(.*)$/s;

/**
 * For a number of another type, the product says "number", and it quotes a number that is not an integer: Nous names its type. A list of
 * values is an enumeration in Nous.
 */
function withTheirKind({ path, message }: JsonProblem, args: JsonValue): string {
  const [, expected, got = ''] = TYPE.exec(message) ?? [];
  if (expected === undefined)
    return message.replace(/^expected (.*), got /s, (_, values: string) => `expected enum:${asList(values)}, got `);
  if (!/^(number|-?\d.*)$/.test(got)) return message;
  const found = segments(path).reduce(memberOf, args);
  return `${expected}${Number.isInteger(found) ? 'integer' : 'number'}`;
}

function memberOf(value: JsonValue, name: string): JsonValue {
  if (Array.isArray(value)) return value[Number(name)] ?? null;
  return isJsonObject(value) ? (value[name] ?? null) : null;
}

/** `"a", "b" or 3` as a list. */
function asList(values: string): string {
  return `[${(values.match(/"(?:[^"\\]|\\.)*"|[^\s,]+/g) ?? []).filter((value) => value !== 'or').join(', ')}]`;
}

const MISSING = /^missing required field "(.*)"$/;

function isMissing({ message }: JsonProblem): boolean {
  return MISSING.test(message);
}

function fieldOf({ path, message }: JsonProblem): string {
  const [, name] = MISSING.exec(message) ?? [];
  return name === undefined ? path : [path, name].filter((part) => part !== '').join('.');
}
