import type { FlowKind } from '../domain/flows/flow-policy.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { propertiesOf } from '../json-schema/json-schema.ts';
import { AT_LEAST_ONE, COUNT } from './bounded-number.ts';

const FLOW_KIND: JsonObject = { enum: ['sequential', 'loop', 'parallel'] satisfies FlowKind[] };

/** The JSON Schema of a flow that is pinned for a run. */
export const FLOW_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    kind: FLOW_KIND,
    agents: { type: 'array', items: { type: 'string' }, minItems: 1 },
    maxIterations: AT_LEAST_ONE,
    until: { type: 'object' },
  },
  required: ['name', 'kind', 'agents', 'maxIterations'],
};

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

/** The JSON Schema of the position of a run in its flow. */
export const FLOW_STATE_SCHEMA: JsonObject = {
  type: 'object',
  properties: { ...propertiesOf(FLOW_SCHEMA), turn: COUNT, iteration: AT_LEAST_ONE, isDue: { const: true } },
  required: ['name', 'kind', 'agents', 'maxIterations', 'turn', 'iteration'],
};
