import { depthProblem, isTooDeep } from '../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../domain/json/json.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import { startStateProblem } from '../domain/record/state-problem.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { PROGRAM_LIMITS } from '../domain/program/document.ts';
import type { ProgramInput } from '../domain/program/messages.ts';
import { LIMITS_SCHEMA } from './limits-schema.ts';
import { OVERRIDES } from './overrides-schema.ts';
import { PARENT_SCHEMA } from './parent-schema.ts';
import { PRINCIPAL_SCHEMA, principalSizeProblem } from './principal-schema.ts';

/** The JSON Schema of the input of a program's run. The document is checked by the activity that pins it, with all its problems at once. */
const PROGRAM_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    program: {
      description: 'The name of a program of the worker, or a program as a document.',
      anyOf: [
        { type: 'string', minLength: 1 },
        {
          type: 'object',
          properties: {
            name: { type: 'string', minLength: 1 },
            units: {
              type: 'array',
              items: { type: 'object', properties: { name: { type: 'string' }, steps: { type: 'array' } }, required: ['name', 'steps'] },
            },
          },
          required: ['version', 'name', 'units'],
        },
      ],
    },
    input: { type: 'object', description: 'The input of the program.' },
    deps: { type: 'object', description: 'Data of the run for tools.' },
    state: { type: 'object', description: 'The state that the run begins with.' },
    principal: { ...PRINCIPAL_SCHEMA, description: 'Whom the run acts for.' },
    resume: {
      type: 'object',
      description: 'An earlier run whose results are taken over.',
      properties: { run: { type: 'string', minLength: 1 }, from: { type: 'string' } },
      required: ['run'],
      additionalProperties: false,
    },
    limits: LIMITS_SCHEMA,
    parent: PARENT_SCHEMA,
    tags: OVERRIDES.tags,
    live: OVERRIDES.live,
  },
  required: ['program'],
  additionalProperties: false,
};

/** The input of a program's run, or its problems. */
export type ProgramInputCheck =
  | { ok: true; input: ProgramInput }
  | { ok: false; code: 'invalid_input' | 'payload_too_large'; problem: string };

/** Checks the input of a program's run, which any Temporal client may have started. Works in the workflow sandbox and never throws. */
export function checkProgramInput(value: unknown): ProgramInputCheck {
  const tooDeep = inputDepthProblem(value);
  if (tooDeep !== undefined) return { ok: false, code: 'invalid_input', problem: tooDeep };
  const problems = checkJson(PROGRAM_INPUT_SCHEMA, value);
  if (problems.length > 0 || !isProgramInput(value)) return { ok: false, code: 'invalid_input', problem: problemsText(problems) };
  const sizes: [name: string, bytes: number, budget: number][] = [
    ['program', jsonBytes(value.program), BYTE_BUDGETS.startInput],
    ['input', jsonBytes(value.input ?? {}), BYTE_BUDGETS.startInput],
    ['deps', jsonBytes(value.deps ?? {}), BYTE_BUDGETS.deps],
    ['state', jsonBytes(value.state ?? {}), BYTE_BUDGETS.state],
  ];
  const inState = value.state === undefined ? undefined : startStateProblem(value.state);
  if (inState !== undefined) return { ok: false, code: 'invalid_input', problem: inState };
  const [tooLarge] = principalSizeProblem(value.principal);
  if (tooLarge !== undefined) return { ok: false, code: 'payload_too_large', problem: tooLarge };
  const over = sizes.find(([, bytes, budget]) => bytes > budget);
  if (over === undefined) return { ok: true, input: value };
  return { ok: false, code: 'payload_too_large', problem: `"${over[0]}" is ${over[1]} bytes of JSON, over ${over[2]}` };
}

/** Describes the first member of an input that is nested too deeply. A document may be nested deeper than other values. */
function inputDepthProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return depthProblem(value);
  const { program, ...others } = value;
  const { jsonLevels } = PROGRAM_LIMITS;
  if (isTooDeep(program, jsonLevels)) return `program: nested deeper than ${jsonLevels} levels`;
  return depthProblem(others);
}

function isProgramInput(value: unknown): value is ProgramInput {
  return isJsonObject(value) && (typeof value['program'] === 'string' || isJsonObject(value['program']));
}
