import { MAX_TREE_DEPTH } from '../domain/children/tree-limits.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { COUNT, DURATION, MOMENT } from './bounded-number.ts';
import { LIMITS_SCHEMA } from './limits-schema.ts';
import { HOOKS_SCHEMA } from './hook-schema.ts';
import { MAX_LAYERS, PERMISSIONS_SCHEMA } from './permissions-schema.ts';

/** The JSON Schema of the parent of a run, in the input of the run. */
export const PARENT_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The run that started this one as its child.',
  properties: {
    runId: { type: 'string', minLength: 1, maxLength: 1_000 },
    firstRunId: { type: 'string', minLength: 1, maxLength: 1_000 },
    depth: { type: 'integer', minimum: 1, maximum: MAX_TREE_DEPTH },
    checkMs: DURATION,
    checkAt: MOMENT,
    left: LIMITS_SCHEMA,
    tree: {
      type: 'object',
      properties: { depth: COUNT, alive: COUNT, runs: COUNT },
      required: ['depth', 'alive', 'runs'],
      additionalProperties: false,
    },
    hooks: HOOKS_SCHEMA,
    kept: { const: true },
    permissions: { type: 'array', items: PERMISSIONS_SCHEMA, maxItems: MAX_LAYERS },
  },
  required: ['runId', 'depth', 'checkMs'],
  additionalProperties: false,
};

/** The JSON Schema of the reference to the call that started a run, in the input of the run. */
export const FROM_CALL_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The call of the parent that holds the whole input.',
  properties: {
    eventId: { type: 'string', minLength: 1, maxLength: 1_000 },
    index: COUNT,
    input: { const: true },
    deps: { const: true },
  },
  required: ['eventId', 'index'],
  additionalProperties: false,
};
