import { type AnyProgram, defineProgram, type StepDocument, type UnitDocument } from '../../../../src/define/program/index.ts';
import type { JsonValue } from '../../../../src/core/domain/json/json.ts';
import { failWith, malformed, type ScriptEntry } from '../../../../src/testing/index.ts';
import { list, number, object, only, said, text } from '../fields.ts';
import { refineOf } from './retry.ts';

const UNIT = ['flow', 'system_prompt', 'effort', 'anchors', 'steps'];
const STEP = ['name', 'prompt', 'output_schema', 'metadata'];
const METADATA = ['refine', 'output_type', 'confidence_floor', 'required_fields'];

/** Translates the units of a compiled program. */
export function toProgram(units: JsonValue | undefined): AnyProgram {
  return defineProgram({ name: 'program', model: 'scripted/model', lenient: true, units: list(units).map(toUnit) });
}

function toUnit(unit: JsonValue): UnitDocument {
  const { flow, system_prompt, effort, anchors, steps } = only('A unit', unit, UNIT);
  return {
    name: text(flow),
    ...given('instructions', system_prompt, text),
    ...given('effort', effort, text),
    ...given('anchors', anchors, texts),
    steps: list(steps).map(toStep),
  };
}

function toStep(step: JsonValue): StepDocument {
  const { name, prompt, output_schema, metadata } = only('A step', step, STEP);
  const { refine, output_type, confidence_floor, required_fields } = only('The metadata of a step', metadata ?? {}, METADATA);
  return {
    name: text(name),
    ask: {
      prompt: text(prompt),
      ...given('output', output_schema, object),
      ...given('type', output_type, text),
      ...given('confidenceFloor', confidence_floor, (floor) => number(floor, 0)),
      ...given('requiredFields', required_fields, texts),
    },
    ...given('refine', refine, (block) => refineOf(object(block))),
  };
}

/** Translates an entry of `model`: the answer to one call, or the error of a client. */
export function toAxonAnswer(entry: JsonValue): ScriptEntry {
  const { content, structured, error } = only('An entry of "model"', entry, ['content', 'structured', 'error']);
  if (error !== undefined) return failWith('model_error', said(error));
  return malformed({
    content: text(content),
    toolCalls: [],
    usage: null,
    finishReason: 'stop',
    ...given('structured', structured, (one) => one),
  });
}

function texts(value: JsonValue): string[] {
  return list(value).map((one) => text(one));
}

/** Returns an object with the key. Empty, as AXON's texts are by default, is the same as absent. */
function given<Key extends string, Value>(
  key: Key,
  value: JsonValue | undefined,
  translate: (value: JsonValue) => Value,
): { [K in Key]?: Value } {
  return value === undefined || value === null || value === '' ? {} : ({ [key]: translate(value) } as { [K in Key]: Value });
}
