import { MAX_RUN_DEPTH } from '../domain/run/parent-run.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { DURATION, MOMENT } from './bounded-number.ts';
import { GIVEN_SCHEMA } from './limits-schema.ts';
import { MAX_LAYERS, PERMISSIONS_SCHEMA } from './permissions-schema.ts';

/** The JSON Schema of the parent of a run, in the input of the run and in the state that it carries. */
export const PARENT_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The run that started this one as its child.',
  properties: {
    runId: { type: 'string', minLength: 1, maxLength: 1_000 },
    firstRunId: { type: 'string', minLength: 1, maxLength: 1_000 },
    depth: { type: 'integer', minimum: 1, maximum: MAX_RUN_DEPTH },
    checkMs: DURATION,
    checkAt: MOMENT,
    left: GIVEN_SCHEMA,
    permissions: { type: 'array', items: PERMISSIONS_SCHEMA, maxItems: MAX_LAYERS },
  },
  required: ['runId', 'depth', 'checkMs'],
  additionalProperties: false,
};
