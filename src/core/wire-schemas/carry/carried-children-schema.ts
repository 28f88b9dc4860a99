import type { JsonObject } from '../../domain/json/json.ts';
import { AT_LEAST_ONE, COUNT, MOMENT } from '../bounded-number.ts';
import { LIMITS_SCHEMA } from '../limits-schema.ts';
import { AGGREGATED_USAGE } from './carried-position-schema.ts';

const ID: JsonObject = { type: 'string', minLength: 1, maxLength: 1_000 };

/** The JSON Schema of the agents that a run has started and that are alive. */
export const RUNNING_AGENTS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      eventId: ID,
      index: COUNT,
      runId: ID,
      startedAt: MOMENT,
      seenAt: MOMENT,
      given: LIMITS_SCHEMA,
      runs: COUNT,
      turn: AT_LEAST_ONE,
    },
    required: ['eventId', 'index', 'runId', 'startedAt', 'seenAt', 'runs'],
  },
};

/** The JSON Schema of the agents that a run keeps between the calls of their tools. */
export const KEPT_AGENTS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: { tool: ID, agent: ID, runId: ID, turns: AT_LEAST_ONE },
    required: ['tool', 'agent', 'runId', 'turns'],
  },
};

/** The JSON Schema of the ids of agents that have ended. */
export const ENDED_CHILDREN_SCHEMA: JsonObject = { type: 'array', items: ID };

/** The JSON Schema of the amounts that the runs below a run have used. */
export const SPENT_BELOW_SCHEMA: JsonObject = {
  type: 'object',
  properties: { usage: AGGREGATED_USAGE, toolCalls: COUNT, runs: COUNT },
  required: ['usage', 'toolCalls', 'runs'],
};
