import type { JsonObject } from '../../../domain/json.ts';
import { STEP_KINDS } from '../../../domain/program-document.ts';
import { CONDITION, fields, LIMITS, NAMES, SCHEMA, TEXT } from './part-schemas.ts';
import { KIND_SCHEMAS, STEP_FIELDS, STEPS } from './step-schemas.ts';

/** The JSON Schema of a unit. */
export const UNIT_SCHEMA: JsonObject = fields(
  { name: TEXT, steps: STEPS },
  {
    persona: { type: 'string' },
    context: { type: 'string' },
    instructions: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    anchors: NAMES,
    effort: TEXT,
    needs: NAMES,
    when: CONDITION,
  },
);

/** The JSON Schema of a step: its name, exactly one kind, and its options. */
export const STEP_SCHEMA: JsonObject = {
  ...fields({ name: TEXT }, { ...STEP_FIELDS, ...KIND_SCHEMAS }),
  oneOf: STEP_KINDS.map((kind) => ({ required: [kind] })),
};

/** The JSON Schema of a whole document, for editors and for models that write programs. `checkProgram` also checks its meaning. */
export const PROGRAM_SCHEMA: JsonObject = {
  ...fields(
    { version: { const: 1 }, name: TEXT, units: { type: 'array', items: { $ref: '#/$defs/unit' } } },
    { model: TEXT, input: SCHEMA, output: {}, limits: LIMITS, onLimit: { enum: ['stop', 'ask'] }, lenient: { type: 'boolean' } },
  ),
  $defs: { unit: UNIT_SCHEMA, step: STEP_SCHEMA },
};
