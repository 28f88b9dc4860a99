import { type AnyProgram, type AnyStep, type AnyUnit, defineProgram, tool, unit } from '../../../../src/define/program/index.ts';
import type { AnyTool } from '../../../../src/define/tool-definition.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { ReasoningEffort } from '../../../../src/core/domain/reasoning-effort.ts';
import { isReferenceName } from '../../../../src/core/program/references.ts';
import { failWith, malformed, type ScriptEntry } from '../../../../src/testing/index.ts';
import { list, number, object, only, said, text } from '../fields.ts';
import { refineOf } from './retry.ts';

const UNIT = ['flow', 'system_prompt', 'effort', 'anchors', 'steps'];
const STEP = ['name', 'prompt', 'output_schema', 'metadata'];
const METADATA = ['refine', 'output_type', 'confidence_floor', 'required_fields', 'use_tool'];

/** A compiled program as a program of the product, and the flow of each unit, by the name that the unit has in the product. */
export interface CompiledProgram {
  program: AnyProgram;
  flows: ReadonlyMap<string, string>;
}

/**
 * Translates the units of a compiled program. Their flows may have one name, no name, or any: the product needs distinct names without
 * dots.
 */
export function toProgram(units: JsonValue | undefined, tools: ReadonlyMap<string, AnyTool>): CompiledProgram {
  const compiled = list(units).map((one) => only('A unit', one, UNIT));
  const flows = new Map<string, string>();
  for (const { flow } of compiled) flows.set(freeName(text(flow), flows), text(flow));
  const names = [...flows.keys()];
  const made = compiled.map((one, index) => toUnit(names[index] ?? '', one, tools));
  return { program: defineProgram({ name: 'program', model: 'scripted/model', lenient: true, units: made }), flows };
}

function freeName(flow: string, taken: ReadonlyMap<string, string>): string {
  if (isReferenceName(flow) && !taken.has(flow)) return flow;
  for (let count = taken.size + 1; ; count += 1) if (!taken.has(`flow#${count}`)) return `flow#${count}`;
}

function toUnit(name: string, { system_prompt, effort, anchors, steps }: JsonObject, tools: ReadonlyMap<string, AnyTool>): AnyUnit {
  const options = {
    ...given('instructions', system_prompt, text),
    ...given('effort', effort, (word) => text(word) as ReasoningEffort),
    ...given('anchors', anchors, texts),
  };
  return unit(
    name,
    options,
    list(steps).map((step) => toStep(step, tools)),
  );
}

function toStep(step: JsonValue, tools: ReadonlyMap<string, AnyTool>): AnyStep {
  const { name, prompt, output_schema, metadata } = only('A step', step, STEP);
  const { refine, output_type, confidence_floor, required_fields, use_tool } = only('The metadata of a step', metadata ?? {}, METADATA);
  if (use_tool !== undefined) {
    // AXON calls the tool with the prompt, and makes no further attempt.
    const called = text(only('"use_tool"', use_tool, ['tool_name'])['tool_name']);
    return tool(text(name), tools.get(called) ?? called, { query: text(prompt) });
  }
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
