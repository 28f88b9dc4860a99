import type { FlowKind } from '../domain/flows/flow-policy.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { AT_LEAST_ONE } from './bounded-number.ts';

const FLOW_KIND: JsonObject = { enum: ['sequential', 'loop', 'parallel'] satisfies FlowKind[] };

/** The JSON Schema of the order of agents in the input of a run. */
export const FLOW_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    kind: FLOW_KIND,
    agents: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 100 }, minItems: 1, maxItems: 100, uniqueItems: true },
    maxIterations: { ...AT_LEAST_ONE, maximum: 10_000 },
    until: { type: 'object' },
  },
  required: ['kind', 'agents'],
  additionalProperties: false,
};
