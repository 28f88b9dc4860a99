import { LonghaulError } from '../../core/domain/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/domain/json.ts';
import { issuesText } from '../options/parse-deps.ts';
import type { AnyProgram } from './program-definition.ts';

/**
 * Returns the input of a program parsed by its zod schema, defaults filled in, as plain JSON. Throws `invalid_input` with the path
 * of each value that does not fit. An input without such a schema stays as it is.
 */
export function parseProgramInput({ name, input: schema }: AnyProgram, input: JsonObject | undefined): JsonObject | undefined {
  if (schema === undefined) return input;
  const parsed = schema.safeParse(input ?? {});
  if (!parsed.success)
    throw new LonghaulError('invalid_input', `The input does not fit program "${name}": ${issuesText('input', parsed.error)}`);
  const plain: unknown = JSON.parse(JSON.stringify(parsed.data) ?? 'null');
  if (isJsonObject(plain)) return plain;
  throw new LonghaulError(
    'invalid_input',
    `The input does not fit program "${name}": input: its schema does not give an object of JSON values`,
  );
}
