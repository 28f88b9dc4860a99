import type { JsonObject } from '../domain/json/json.ts';
import { MAX_GLOB_LENGTH } from '../domain/permissions/glob.ts';
import { PERMISSION_MODES } from '../domain/permissions/permissions.ts';

const GLOB: JsonObject = { type: 'string', minLength: 1, maxLength: MAX_GLOB_LENGTH };

const RULES: JsonObject = {
  type: 'array',
  maxItems: 100,
  items: {
    type: 'object',
    properties: { tool: GLOB, category: GLOB, args: { type: 'object', additionalProperties: GLOB } },
    additionalProperties: false,
  },
};

/** The most policies that hold for one run: one of the agent, and at most two of each run above and of the start. */
export const MAX_LAYERS = 20;

/** The JSON Schema of permissions, with all rules as objects. */
export const PERMISSIONS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    mode: { enum: [...PERMISSION_MODES] },
    deny: RULES,
    ask: RULES,
    allow: RULES,
    approvalRequired: RULES,
    allowUnattendedExecute: { const: true },
  },
  required: ['mode'],
  additionalProperties: false,
};
