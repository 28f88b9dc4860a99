import type { JsonObject } from '../../../domain/json.ts';
import { PROGRAM_LIMITS, type StepKind } from '../../../domain/program-document.ts';
import {
  CONDITION,
  DEADLINE_FIELDS,
  DECISION,
  DURATION,
  fields,
  LIMITS,
  NAMES,
  OBJECT,
  SCHEMA,
  TEXT,
  wholeNumber,
} from './part-schemas.ts';

/** A list of steps, wherever the format has one. */
export const STEPS: JsonObject = { type: 'array', items: { $ref: '#/$defs/step' } };

const NUMBER: JsonObject = { type: 'number' };

/** The JSON Schema of the value of each kind of step. */
export const KIND_SCHEMAS: Readonly<Record<StepKind, JsonObject>> = {
  ask: fields(
    { prompt: TEXT },
    {
      model: TEXT,
      output: SCHEMA,
      type: TEXT,
      confidenceFloor: { type: 'number', minimum: 0, maximum: 1 },
      requiredFields: NAMES,
      range: fields({}, { min: NUMBER, max: NUMBER }),
      anchors: NAMES,
      effort: TEXT,
      settings: OBJECT,
      tools: { ...NAMES, minItems: 1 },
      limits: LIMITS,
    },
  ),
  tool: fields({ name: TEXT }, { arguments: OBJECT }),
  agent: fields({ name: TEXT, input: TEXT }, { deps: OBJECT, limits: LIMITS }),
  program: fields({ name: TEXT }, { input: OBJECT, limits: LIMITS }),
  human: fields({ question: TEXT }, { output: SCHEMA, ...DEADLINE_FIELDS }),
  sleep: fields({ for: DURATION }),
  remember: fields({ key: TEXT, value: {} }, { metadata: OBJECT, scope: TEXT }),
  recall: fields({ query: TEXT }, { topK: wholeNumber(1), minScore: { type: 'number', minimum: 0, maximum: 1 }, scope: TEXT }),
  parallel: fields({ branches: { type: 'array', items: STEPS, minItems: 1 } }),
  branch: fields({ cases: { type: 'array', items: fields({ when: CONDITION, steps: STEPS }), minItems: 1 } }, { else: STEPS }),
  forEach: fields({ in: TEXT, steps: STEPS }, { as: TEXT, atOnce: wholeNumber(1, PROGRAM_LIMITS.atOnce) }),
  repeat: fields({ until: CONDITION, atMost: wholeNumber(1, PROGRAM_LIMITS.items), steps: STEPS }),
};

/** The JSON Schema of the attempts of a step. */
const REFINE = fields(
  {},
  {
    maxAttempts: wholeNumber(1, 20),
    backoff: { enum: ['none', 'linear', 'exponential'] },
    passFailureContext: { type: 'boolean' },
    onExhaustion: { enum: ['fail', 'skip', 'fallback'] },
    fallback: TEXT,
  },
);

/** The JSON Schemas of the fields of a step that do not depend on its kind. */
export const STEP_FIELDS: Readonly<Record<string, JsonObject>> = {
  name: TEXT,
  when: CONDITION,
  refine: REFINE,
  timeout: DURATION,
  approval: DECISION,
  review: DECISION,
};
