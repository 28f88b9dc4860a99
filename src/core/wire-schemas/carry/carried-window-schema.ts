import type { JsonObject } from '../../domain/json/json.ts';
import { COUNT } from '../bounded-number.ts';

const TEXT: JsonObject = { type: 'string' };
const OBJECT: JsonObject = { type: 'object' };

/** The JSON Schema of an item of the content of an event. */
const ITEM: JsonObject = {
  anyOf: [
    {
      type: 'object',
      properties: {
        type: { const: 'message' },
        role: { enum: ['system', 'user', 'assistant'] },
        content: { anyOf: [TEXT, { type: 'array', items: { type: 'object', properties: { type: TEXT }, required: ['type'] } }] },
      },
      required: ['type', 'role', 'content'],
    },
    {
      type: 'object',
      properties: { type: { const: 'tool_call' }, toolCallId: TEXT, name: TEXT, arguments: OBJECT },
      required: ['type', 'toolCallId', 'name', 'arguments'],
    },
    {
      type: 'object',
      properties: {
        type: { const: 'tool_result' },
        toolCallId: TEXT,
        name: TEXT,
        status: { enum: ['success', 'error'] },
        content: { type: 'array' },
        spilled: OBJECT,
      },
      required: ['type', 'toolCallId', 'name', 'status', 'content'],
    },
  ],
};

/** The JSON Schema of the window of a run. */
export const CARRIED_WINDOW_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    events: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          offset: COUNT,
          id: TEXT,
          author: TEXT,
          content: { type: 'array', minItems: 1, items: ITEM },
          providerItems: { type: 'array' },
        },
        required: ['offset', 'id', 'author', 'content'],
      },
    },
    through: COUNT,
    lastEventId: TEXT,
    bytes: COUNT,
  },
  required: ['events', 'through', 'lastEventId', 'bytes'],
};
