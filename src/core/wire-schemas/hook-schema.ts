import { HOOK_EVENTS } from '../domain/hooks/hook-event.ts';
import { DURATION } from './bounded-number.ts';
import type { JsonObject } from '../domain/json/json.ts';

const TEXT: JsonObject = { type: 'string' };

/** The JSON Schema of the hooks in a snapshot. */
export const HOOKS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      name: TEXT,
      on: { enum: [...HOOK_EVENTS] },
      of: TEXT,
      tier: { const: 'remote' },
      timeoutMs: DURATION,
      failClosed: { const: true },
    },
    required: ['name', 'on'],
  },
};
