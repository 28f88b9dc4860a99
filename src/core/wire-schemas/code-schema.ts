import type { JsonObject } from '../domain/json/json.ts';
import { MAX_TIMEOUT_SECONDS } from '../domain/code/code-snapshot.ts';
import { AMOUNT, AT_LEAST_ONE, COUNT, MOMENT, SUMMAND } from './bounded-number.ts';
import { SPILLED } from './content-item-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const NAME: JsonObject = { type: 'string', minLength: 1 };

/** The JSON Schema of a call of a tool. */
export const CALL_SCHEMA: JsonObject = {
  type: 'object',
  properties: { type: { const: 'tool_call' }, toolCallId: NAME, name: TEXT, arguments: { type: 'object' } },
  required: ['type', 'toolCallId', 'name', 'arguments'],
};

/** The JSON Schema of the way in which an agent runs code. */
export const CODE_SNAPSHOT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    executor: {
      type: 'object',
      properties: {
        kind: { enum: ['quickjs', 'python', 'custom', 'in_process'] },
        language: { enum: ['javascript', 'python'] },
        limits: {
          type: 'object',
          properties: {
            // Zero or less is no limit of time.
            timeoutSeconds: { ...SUMMAND, maximum: MAX_TIMEOUT_SECONDS },
            maxMemoryMb: AT_LEAST_ONE,
            maxOutputBytes: AT_LEAST_ONE,
            maxSteps: AT_LEAST_ONE,
          },
          required: ['timeoutSeconds', 'maxMemoryMb', 'maxOutputBytes', 'maxSteps'],
        },
        allowedImports: { type: 'array', items: TEXT },
      },
      required: ['kind', 'language', 'limits', 'allowedImports'],
    },
    tier: { enum: ['local', 'remote'] },
    injected: { type: 'object' },
    prune: {
      type: 'object',
      properties: { strategy: { enum: ['none', 'last_steps', 'old_observations'] }, keep: COUNT, maxLength: COUNT },
      required: ['strategy'],
    },
  },
  required: ['executor', 'tier'],
};

const RESULT: JsonObject = {
  anyOf: [
    { type: 'object', required: ['value'] },
    { type: 'object', properties: { error: TEXT }, required: ['error'] },
  ],
};

const CELL: JsonObject = {
  type: 'object',
  properties: {
    code: TEXT,
    moment: { type: 'object', properties: { now: MOMENT, seed: COUNT }, required: ['now', 'seed'] },
    segments: {
      type: 'array',
      items: {
        type: 'object',
        properties: { digest: TEXT, tools: { type: 'array', items: TEXT }, results: { type: 'array', items: RESULT } },
        required: ['digest'],
      },
    },
  },
  required: ['code', 'moment', 'segments'],
};

const RECORD: JsonObject = {
  type: 'object',
  properties: {
    toolName: TEXT,
    toolVersion: TEXT,
    callId: TEXT,
    arguments: { type: 'object' },
    result: TEXT,
    isError: { type: 'boolean' },
    durationMs: { anyOf: [AMOUNT, { type: 'null' }] },
    timestamp: TEXT,
    caller: { const: 'code' },
  },
  required: ['toolName', 'callId', 'arguments', 'result', 'isError', 'durationMs', 'timestamp'],
};

/** The JSON Schema of the code that a run has executed, carried into the next execution. */
export const CODE_STATE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    journal: {
      type: 'object',
      properties: { checkpoint: SPILLED, cells: { type: 'array', items: CELL }, isLost: { enum: ['too_large', 'agent_changed'] } },
      required: ['cells'],
    },
    journalBytes: COUNT,
    localWork: { type: 'object', properties: { bytes: COUNT, segments: COUNT }, required: ['bytes', 'segments'] },
    calls: {
      type: 'object',
      properties: { offset: COUNT, id: TEXT, author: TEXT, content: { type: 'array', items: CALL_SCHEMA } },
      required: ['offset', 'id', 'author', 'content'],
    },
    records: { type: 'array', items: RECORD },
  },
  required: ['journal', 'journalBytes', 'records'],
};
