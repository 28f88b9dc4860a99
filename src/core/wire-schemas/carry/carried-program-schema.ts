import { ERROR_CODES } from '../../domain/errors/error.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { STEP_KINDS } from '../../domain/program/document.ts';
import { COUNT, MOMENT } from '../bounded-number.ts';
import { SPILLED } from '../content-item-schema.ts';
import { RUN_USAGE } from './carried-handoffs-schema.ts';
import { LIMITS_SCHEMA } from '../limits-schema.ts';
import { PINNED_PROGRAM_SCHEMA } from '../pinned-program.ts';

const TEXT: JsonObject = { type: 'string' };
const OBJECT: JsonObject = { type: 'object' };
const DONE: JsonObject = { const: true };
const STATUS: JsonObject = { enum: ['running', 'completed', 'failed', 'skipped'] };

const FAILURE: JsonObject = {
  type: 'object',
  properties: {
    code: { enum: Object.keys(ERROR_CODES) },
    message: TEXT,
    context: {
      type: 'object',
      properties: {
        step: TEXT,
        unit: TEXT,
        attempt: COUNT,
        expectedType: TEXT,
        actualValue: TEXT,
        anchorName: TEXT,
        details: TEXT,
      },
    },
  },
  required: ['code', 'message', 'context'],
};

const STEP_ERROR: JsonObject = { ...FAILURE, properties: { ...(FAILURE['properties'] as JsonObject), cause: FAILURE } };

const UNIT: JsonObject = {
  type: 'object',
  properties: { status: STATUS, startedAt: MOMENT, endedAt: MOMENT, error: STEP_ERROR, reason: TEXT },
  required: ['status', 'startedAt'],
};

const PROGRESS: JsonObject = {
  type: 'object',
  properties: {
    failure: { type: 'object', properties: { error: STEP_ERROR, id: TEXT }, required: ['error', 'id'] },
    wakeAt: MOMENT,
    callEventId: TEXT,
    call: { type: 'object', properties: { callId: TEXT, eventId: TEXT, offset: COUNT }, required: ['callId', 'eventId', 'offset'] },
    approved: { type: 'object', properties: { arguments: OBJECT } },
    held: { type: 'object', properties: { id: TEXT }, required: ['output', 'id'] },
    child: {
      type: 'object',
      properties: {
        runId: { type: 'string', minLength: 1, maxLength: 1_000 },
        startedAt: MOMENT,
        seenAt: MOMENT,
        promptLength: COUNT,
        given: LIMITS_SCHEMA,
      },
      required: ['runId', 'startedAt', 'seenAt'],
    },
    taken: { type: 'integer', minimum: -1, maximum: Number.MAX_SAFE_INTEGER },
  },
};

const ATTEMPT: JsonObject = {
  type: 'object',
  properties: { attempt: COUNT, success: { type: 'boolean' }, violations: { type: 'array', items: OBJECT }, code: TEXT, message: TEXT },
  required: ['attempt', 'success'],
};

const STEP: JsonObject = {
  type: 'object',
  properties: {
    kind: { enum: [...STEP_KINDS] },
    status: STATUS,
    startedAt: MOMENT,
    endedAt: MOMENT,
    reused: DONE,
    attempts: COUNT,
    outputForgotten: DONE,
    outputId: TEXT,
    error: STEP_ERROR,
    reason: TEXT,
    text: TEXT,
    usage: RUN_USAGE,
    attemptDetails: { type: 'array', items: ATTEMPT },
    detailsForgotten: DONE,
    rounds: COUNT,
    items: OBJECT,
    spilled: SPILLED,
    spilledItems: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: TEXT, indexes: { type: 'array', items: COUNT }, spilled: SPILLED },
        required: ['id', 'indexes', 'spilled'],
      },
    },
    progress: PROGRESS,
  },
  required: ['kind', 'status', 'startedAt', 'attempts'],
};

/** Makes the JSON Schema of a list of names with what each stands for. It is a list, because names may be those such as `__proto__`. */
function namedListOf(value: JsonObject): JsonObject {
  return { type: 'array', items: { type: 'array', prefixItems: [TEXT, value], minItems: 2, maxItems: 2 } };
}

/** The JSON Schema of the state of a program, carried into the next execution. */
export const CARRIED_PROGRAM_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    input: OBJECT,
    units: namedListOf(UNIT),
    steps: namedListOf(STEP),
    unreported: LIMITS_SCHEMA,
    resume: {
      type: 'object',
      properties: { run: { type: 'string', minLength: 1 }, from: TEXT },
      required: ['run'],
      additionalProperties: false,
    },
    earlier: {
      type: 'object',
      properties: { document: PINNED_PROGRAM_SCHEMA, input: OBJECT, outputs: namedListOf({}) },
      required: ['document', 'input', 'outputs'],
    },
  },
  required: ['input', 'units', 'steps'],
};
