import type { JsonObject } from '../domain/json/json.ts';

const TEXT: JsonObject = { type: 'string' };
const TEXTS: JsonObject = { type: 'array', items: TEXT };

const BREACHES: JsonObject = {
  type: 'array',
  items: { type: 'object', properties: { anchor: TEXT, violations: TEXTS }, required: ['anchor', 'violations'] },
};

const VIOLATION: JsonObject = {
  type: 'object',
  properties: { rule: TEXT, message: TEXT, expected: TEXT, actual: TEXT, severity: { enum: ['error', 'warning'] } },
  required: ['rule', 'message', 'expected', 'actual', 'severity'],
};

/** The JSON Schema of the checks of an answer. */
export const VERDICT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    empty: { const: true },
    anchors: {
      type: 'object',
      properties: { passed: { type: 'boolean' }, checked: TEXTS, breaches: BREACHES, warnings: BREACHES, excused: TEXTS },
      required: ['passed', 'checked', 'breaches', 'warnings', 'excused'],
    },
    violations: { type: 'array', items: VIOLATION },
    confidence: { type: 'number' },
    misfit: TEXT,
  },
};
