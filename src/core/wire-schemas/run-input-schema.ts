import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import { depthProblem } from '../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../domain/json/json.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { RunInput } from '../protocol.ts';
import { AT_LEAST_ONE } from './bounded-number.ts';
import { LIMITS_SCHEMA } from './limits-schema.ts';
import { OVERRIDES } from './overrides-schema.ts';
import { checkJson, problemsText, type JsonProblem } from '../json-schema/check-json-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const SIZE: JsonObject = { type: 'number', minimum: 0 };

/** Returns the JSON Schema of a message part of one type, with its own fields. */
function part(type: string, fields: JsonObject, required: string[] = []): JsonObject {
  return {
    type: 'object',
    properties: { type: { type: 'string', const: type }, ...fields },
    required: ['type', ...required],
    additionalProperties: false,
  };
}

function mediaPart(type: string, fields: JsonObject): JsonObject {
  return part(type, { url: TEXT, data: TEXT, mediaType: TEXT, ...fields });
}

/** The JSON Schema of the input of a run. */
export const RUN_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    agent: { type: 'string', minLength: 1, description: 'The name of the agent.' },
    input: {
      description: 'What the user says: text, or parts where media is involved.',
      anyOf: [
        TEXT,
        {
          type: 'array',
          minItems: 1,
          items: {
            anyOf: [
              part('text', { text: TEXT }, ['text']),
              mediaPart('image', { width: SIZE, height: SIZE }),
              mediaPart('audio', { format: TEXT }),
              mediaPart('video', { format: TEXT }),
              mediaPart('file', { name: TEXT }),
            ],
          },
        },
      ],
    },
    deps: { type: 'object', description: 'Data of the run for instructions and tools.' },
    maxIterations: { ...AT_LEAST_ONE, description: "Overrides the agent's step limit." },
    limits: { ...LIMITS_SCHEMA, description: 'Overrides other limits of the agent.' },
    ...OVERRIDES,
  },
  required: ['agent', 'input'],
  additionalProperties: false,
};

/** Bytes of JSON that limits may have: enough for a limit for each of a thousand tools. They are carried through the run. */
const LIMITS_BYTES = 64_000;

/** Bytes of JSON that settings may have, because they become part of the snapshot. */
const SETTINGS_BYTES = 16_000;

/** The input of a run, or its problems, each with its path and the expected value. */
export type RunInputCheck = { ok: true; input: RunInput } | { ok: false; code: 'invalid_input' | 'payload_too_large'; problem: string };

/** Checks the input of a run, which any Temporal client may have started. Works in the workflow sandbox and never throws. */
export function checkRunInput(value: unknown): RunInputCheck {
  if (value === undefined) {
    return { ok: false, code: 'invalid_input', problem: 'expected an object such as {"agent": "name", "input": "text"}, got nothing' };
  }
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { ok: false, code: 'invalid_input', problem: tooDeep };
  const problems = checkJson(RUN_INPUT_SCHEMA, value);
  if (problems.length === 0 && isRunInput(value)) {
    problems.push(...mediaProblems(value.input, 'input'), ...tagProblems(value.tags ?? []));
    if (problems.length === 0) return checkSizes(value);
  }
  return { ok: false, code: 'invalid_input', problem: problemsText(problems) };
}

/** Checks the sizes of the fields, because a run carries all of them until its end. */
function checkSizes(input: RunInput): RunInputCheck {
  const problems: string[] = [];
  const inputBytes = jsonBytes(input.input);
  if (inputBytes > BYTE_BUDGETS.startInput) {
    problems.push(
      `input: ${inputBytes} bytes of JSON, over ${BYTE_BUDGETS.startInput}: pass large media by URL, and long texts through a tool`,
    );
  }
  const depsBytes = input.deps === undefined ? 0 : jsonBytes(input.deps);
  if (depsBytes > BYTE_BUDGETS.deps) {
    problems.push(`deps: ${depsBytes} bytes of JSON, over ${BYTE_BUDGETS.deps}: pass ids, and let tools look up the rest`);
  }
  const limitsBytes = input.limits === undefined ? 0 : jsonBytes(input.limits);
  if (limitsBytes > LIMITS_BYTES) problems.push(`limits: ${limitsBytes} bytes of JSON, over ${LIMITS_BYTES}: name fewer tools`);
  const settingsBytes = input.settings === undefined ? 0 : jsonBytes(input.settings);
  if (settingsBytes > SETTINGS_BYTES) problems.push(`settings: ${settingsBytes} bytes of JSON, over ${SETTINGS_BYTES}: shorten "extra"`);
  return problems.length === 0 ? { ok: true, input } : { ok: false, code: 'payload_too_large', problem: problems.join('; ') };
}

/** Narrows the type of a value that fits the schema. */
function isRunInput(value: unknown): value is RunInput {
  return isJsonObject(value) && typeof value['agent'] === 'string' && 'input' in value;
}

function tagProblems(tags: readonly string[]): JsonProblem[] {
  return tags.flatMap((tag, index) =>
    tags.indexOf(tag) === index
      ? []
      : [{ path: `tags[${index}]`, message: `expected a tag that is not there yet, got ${JSON.stringify(tag)}` }],
  );
}

/** Lists the media parts that do not have exactly one source. `path` leads to the content. */
export function mediaProblems(content: RunInput['input'], path: string): JsonProblem[] {
  if (typeof content === 'string') return [];
  return content.flatMap((one, index) => {
    if (one.type === 'text' || (one.url === undefined) !== (one.data === undefined)) return [];
    return [
      { path: `${path}[${index}]`, message: `expected exactly one of "url" and "data", got ${one.url === undefined ? 'neither' : 'both'}` },
    ];
  });
}
