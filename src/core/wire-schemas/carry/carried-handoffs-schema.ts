import type { JsonObject } from '../../domain/json/json.ts';
import { propertiesOf } from '../../json-schema/json-schema.ts';
import { COUNT } from '../bounded-number.ts';
import { FLOW_STATE_SCHEMA } from '../flow-schema.ts';
import { SNAPSHOT_SCHEMA } from '../snapshot-schema.ts';
import { NOTICES, USAGE } from './carried-position-schema.ts';

const TEXT: JsonObject = { type: 'string' };

/** The JSON Schema of the usage of a run, or of one of its agents. */
export const RUN_USAGE: JsonObject = {
  type: 'object',
  properties: { ...propertiesOf(USAGE), llmCalls: COUNT, estimated: USAGE },
  required: ['promptTokens', 'completionTokens', 'totalTokens', 'cachedTokens', 'reasoningTokens', 'llmCalls'],
};

/** The JSON Schema of the agents of a run that has been handed over. */
export const HANDOFF_STATE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    first: TEXT,
    max: COUNT,
    count: COUNT,
    pinned: { type: 'array', items: SNAPSHOT_SCHEMA },
    next: SNAPSHOT_SCHEMA,
    notices: NOTICES,
    flow: FLOW_STATE_SCHEMA,
    usage: { type: 'array', items: { type: 'array', prefixItems: [TEXT, RUN_USAGE], minItems: 2, maxItems: 2 } },
  },
  required: ['first', 'max', 'count', 'pinned', 'usage'],
};
