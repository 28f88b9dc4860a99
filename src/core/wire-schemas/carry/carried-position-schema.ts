import { HOOK_RECORDS_SCHEMA } from '../hook-schema.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { NOT_RUN } from '../../domain/record/calls-not-run.ts';
import { TERMINAL_STATUSES } from '../../domain/run/status.ts';
import { AMOUNT, COUNT, MOMENT, SUMMAND } from '../bounded-number.ts';
import { propertiesOf } from '../../json-schema/json-schema.ts';
import { CALL_SCHEMA } from '../code-schema.ts';
import { VERDICT_SCHEMA } from '../verdict-schema.ts';
import { REQUIREMENT_SCHEMA } from './carried-requests-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const FLAG: JsonObject = { type: 'boolean' };
const OBJECT: JsonObject = { type: 'object' };
const YES: JsonObject = { const: true };

/** The JSON Schema of the tokens of model calls. */
export const USAGE: JsonObject = {
  type: 'object',
  properties: {
    promptTokens: COUNT,
    completionTokens: COUNT,
    totalTokens: COUNT,
    cachedTokens: COUNT,
    cacheWriteTokens: COUNT,
    reasoningTokens: COUNT,
    costUsd: SUMMAND,
  },
  required: ['promptTokens', 'completionTokens', 'totalTokens'],
};

/** The JSON Schema of the tokens of all model calls of a run. */
export const AGGREGATED_USAGE: JsonObject = {
  type: 'object',
  properties: { ...propertiesOf(USAGE), llmCalls: COUNT, estimated: USAGE },
  required: ['promptTokens', 'completionTokens', 'totalTokens', 'cachedTokens', 'reasoningTokens', 'llmCalls'],
};

const SPENT: JsonObject = { type: 'object', properties: { reported: USAGE, estimated: USAGE } };

/** The JSON Schema of the notices of an event. */
export const NOTICES: JsonObject = {
  type: 'array',
  items: { type: 'object', properties: { code: TEXT, message: TEXT }, required: ['code', 'message'] },
};

const OPERATION: JsonObject = {
  type: 'object',
  properties: { op: { enum: ['set', 'merge', 'append', 'delete'] }, key: TEXT, value: true },
  required: ['op', 'key'],
};

const ENDED: JsonObject = {
  type: 'object',
  properties: {
    tool: TEXT,
    status: { enum: [...TERMINAL_STATUSES] },
    stopReason: TEXT,
    finishReason: TEXT,
    error: { type: 'object', properties: { code: TEXT, message: TEXT }, required: ['code', 'message'] },
  },
  required: ['tool', 'status', 'stopReason', 'output'],
};

const OUTCOME: JsonObject = {
  anyOf: [
    { type: 'null' },
    {
      type: 'object',
      properties: {
        type: { const: 'result' },
        status: { enum: ['success', 'error'] },
        content: { type: 'array' },
        durationMs: { anyOf: [AMOUNT, { type: 'null' }] },
        notRun: { enum: Object.keys(NOT_RUN) },
        resultId: TEXT,
        spilled: OBJECT,
        state: OBJECT,
        contextUpdate: { type: 'array', items: OPERATION },
        applied: YES,
        asksRetry: YES,
        isUnknown: YES,
        hooks: HOOK_RECORDS_SCHEMA,
        verified: { type: 'object', properties: { happened: FLAG, reason: TEXT }, required: ['happened', 'reason'] },
        noWorker: { type: 'object', properties: { code: TEXT, message: TEXT }, required: ['code', 'message'] },
        recordedAt: TEXT,
        transferTo: TEXT,
        finalAnswer: { type: 'object', required: ['value'] },
        childRunId: TEXT,
        ended: ENDED,
      },
      required: ['type', 'status', 'content', 'durationMs'],
    },
    {
      type: 'object',
      properties: { type: { const: 'cancelled' }, recordedAt: TEXT, isUnknown: YES, childRunId: TEXT },
      required: ['type'],
    },
    { type: 'object', properties: { type: { const: 'lost' }, reason: TEXT }, required: ['type'] },
  ],
};

const RESPONSE: JsonObject = {
  type: 'object',
  properties: {
    id: TEXT,
    finishReason: TEXT,
    usage: { anyOf: [USAGE, { type: 'null' }] },
    problems: { type: 'object', additionalProperties: TEXT },
    approvals: { type: 'object', additionalProperties: REQUIREMENT_SCHEMA },
    rewrites: { type: 'object', additionalProperties: { type: 'object' } },
    injections: { type: 'object', additionalProperties: TEXT },
    hooks: HOOK_RECORDS_SCHEMA,
    reviewed: YES,
    failedAttempts: SPENT,
    notices: NOTICES,
    guardrails: OBJECT,
    output: {
      type: 'object',
      properties: { type: { enum: ['fits', 'parsed', 'problem'] }, problem: TEXT },
      required: ['type'],
    },
    verdict: VERDICT_SCHEMA,
    refusal: TEXT,
    receivedAt: MOMENT,
    confidence: { type: 'number' },
  },
  required: ['id', 'finishReason'],
};

/** The calls of the response of a model. */
const TOOLS: JsonObject = {
  type: 'object',
  properties: {
    type: { const: 'run_tools' },
    response: RESPONSE,
    final: FLAG,
    outcomes: { type: 'array', items: OUTCOME },
    limitRefused: YES,
    overLimit: YES,
  },
  required: ['type', 'response', 'final', 'outcomes'],
};

const CELL: JsonObject = {
  type: 'object',
  properties: { type: { const: 'run_cell' }, tools: TOOLS, index: COUNT, spentMs: AMOUNT },
  required: ['type', 'tools', 'index'],
};

/** The calls that the code of a cell makes. */
const CALLS_OF_CODE: JsonObject = {
  type: 'object',
  properties: {
    ...propertiesOf(TOOLS),
    response: {
      type: 'object',
      properties: { ...propertiesOf(RESPONSE), content: { type: 'array', items: CALL_SCHEMA } },
      required: ['id', 'finishReason', 'content'],
    },
    cell: CELL,
  },
  required: ['type', 'response', 'final', 'outcomes', 'cell'],
};

/** The JSON Schema of the position at which the loop goes on. */
export const CARRIED_POSITION_SCHEMA: JsonObject = {
  anyOf: [
    { type: 'object', properties: { type: { const: 'idle' } }, required: ['type'] },
    { type: 'object', properties: { type: { const: 'call_model' }, final: FLAG, shortened: YES }, required: ['type', 'final'] },
    CALLS_OF_CODE,
    { ...TOOLS, properties: { ...propertiesOf(TOOLS), cell: false } },
    CELL,
  ],
};
