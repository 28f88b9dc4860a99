import { TIERS } from '../../domain/batch.ts';
import type { JsonObject } from '../../domain/json.ts';
import { CLOCK } from '../../domain/quiet-hours.ts';
import { PROGRAM_LIMITS, STEP_KINDS, type StepKind } from '../../domain/program-document.ts';
import { REASONING_EFFORTS } from '../../domain/reasoning-effort.ts';

/** A text with at least one character. */
export const TEXT: JsonObject = { type: 'string', minLength: 1 };

/** A list of steps, wherever the format allows one. */
const STEPS: JsonObject = { type: 'array', items: { $ref: '#/$defs/step' } };

const NAMES: JsonObject = { type: 'array', items: TEXT };

/** A JSON Schema. It is checked separately. */
const SCHEMA: JsonObject = { type: 'object' };

/** A reference and a JSON Schema. */
const CONDITION: JsonObject = fields({ of: TEXT, is: SCHEMA });

export const UNIT_SCHEMA: JsonObject = fields(
  { name: TEXT, steps: STEPS },
  {
    persona: { type: 'string' },
    context: { type: 'string' },
    instructions: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    anchors: NAMES,
    effort: { enum: [...REASONING_EFFORTS] },
    needs: NAMES,
    when: CONDITION,
  },
);

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

/** Milliseconds, or a text such as `30s`. */
const DURATION: JsonObject = { type: ['number', 'string'] };

const DEADLINE = { deadline: DURATION, onDeadline: { enum: ['approve', 'reject'] } };

/** A person's decision: `true`, or its deadline. */
const DECISION: JsonObject = { anyOf: [{ const: true }, fields({}, DEADLINE)] };

/** The JSON Schemas of the step fields that do not depend on the kind. */
export const STEP_FIELDS: Readonly<Record<string, JsonObject>> = {
  name: TEXT,
  when: CONDITION,
  refine: REFINE,
  timeout: DURATION,
  approval: DECISION,
  review: DECISION,
};

const NUMBER: JsonObject = { type: 'number' };

/** Any object. */
const OBJECT: JsonObject = { type: 'object' };

const COUNT = wholeNumber(0);

const LIMITS: JsonObject = fields(
  {},
  {
    steps: wholeNumber(1),
    toolCalls: COUNT,
    toolCallsByName: { type: 'object', additionalProperties: COUNT },
    inputTokens: COUNT,
    outputTokens: COUNT,
    totalTokens: COUNT,
    costUsd: { type: 'number', exclusiveMinimum: 0 },
    deadline: DURATION,
  },
);

/** A time of day, such as `22:00`. */
const TIME: JsonObject = { type: 'string', pattern: CLOCK.source };

const QUIET_HOURS: JsonObject = fields({ from: TIME, to: TIME, zone: TEXT });

/** The options of a question to a person. */
const DEADLINE_FIELDS: Record<string, JsonObject> = DEADLINE;

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
      effort: { enum: [...REASONING_EFFORTS] },
      settings: OBJECT,
      tier: { enum: [...TIERS] },
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

/** The JSON Schema of a step: its name, exactly one kind, and its options. */
const STEP_SCHEMA: JsonObject = {
  ...fields({ name: TEXT }, { ...STEP_FIELDS, ...KIND_SCHEMAS }),
  oneOf: STEP_KINDS.map((kind) => ({ required: [kind] })),
};

/** The JSON Schema of a whole document, for editors and for models that write programs. `checkProgram` also checks its meaning. */
export const PROGRAM_SCHEMA: JsonObject = {
  ...fields(
    { version: { const: 1 }, name: TEXT, units: { type: 'array', items: { $ref: '#/$defs/unit' } } },
    {
      model: TEXT,
      input: SCHEMA,
      output: {},
      limits: LIMITS,
      onLimit: { enum: ['stop', 'ask'] },
      quietHours: QUIET_HOURS,
      lenient: { type: 'boolean' },
    },
  ),
  $defs: { unit: UNIT_SCHEMA, step: STEP_SCHEMA },
};

/** An integer from `least` to `most`; without `most`, up to the largest exact one. */
function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER): JsonObject {
  return { type: 'integer', minimum: least, maximum: most };
}

/** An object with exactly these fields. */
export function fields(required: Record<string, JsonObject>, optional: Record<string, JsonObject> = {}): JsonObject {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required), additionalProperties: false };
}
