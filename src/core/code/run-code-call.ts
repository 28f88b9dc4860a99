import { RUN_CODE } from '../domain/tool-calls.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { type CheckedArguments, invalidArguments, readArguments } from '../json-schema/read-by-schema.ts';

/** Characters that the code of one cell may have. */
export const MAX_CELL_LENGTH = 100_000;

/** The parameters of `run_code`, as they are sent to a provider. */
export const RUN_CODE_PARAMETERS: JsonObject = {
  type: 'object',
  properties: { code: { type: 'string', description: 'The code to run.' } },
  required: ['code'],
  additionalProperties: false,
};

const SCHEMA: JsonObject = {
  ...RUN_CODE_PARAMETERS,
  properties: { code: { type: 'string', maxLength: MAX_CELL_LENGTH } },
};

/** Checks the arguments of a call of `run_code`: its code must not be empty or too long. */
export function checkRunCode(given: JsonValue): CheckedArguments {
  const checked = readArguments({ name: RUN_CODE, schema: SCHEMA }, given);
  if (checked.problem !== undefined) return checked;
  const { code } = checked.args;
  if (typeof code === 'string' && code.trim() !== '') return checked;
  return { ...checked, problem: invalidArguments(RUN_CODE, 'code: expected code, got empty text') };
}
