import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { checkProgram } from '../../../src/core/program/check/check-program.ts';
import { checkProgramInput } from '../../../src/core/wire-schemas/run-input-schema.ts';

/** A program with a step inside of so many branches. */
function deepProgram(levels: number): JsonObject {
  let step: JsonObject = { name: 'S', ask: { prompt: 'Go.' } };
  for (let level = 1; level < levels; level += 1) {
    step = { name: `B${level}`, branch: { cases: [{ when: { of: 'input.n', is: { properties: { a: { const: 1 } } } }, steps: [step] }] } };
  }
  return { version: 1, name: 'deep', model: 'p/m', units: [{ name: 'u', steps: [step] }] };
}

function nested(levels: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

describe('a document as the input of a run', () => {
  it('may be as deep as blocks can be', () => {
    expect(checkProgram(deepProgram(16)).problems).toEqual([]);
    expect(checkProgramInput({ program: deepProgram(16) })).toMatchObject({ ok: true });
  });

  it('is refused if it is deeper than any program, and so are other values at their depth', () => {
    expect(checkProgramInput({ program: { ...deepProgram(1), output: nested(112) } })).toMatchObject({
      ok: false,
      problem: 'program: nested deeper than 112 levels',
    });
    expect(checkProgramInput({ program: 'p', input: { a: nested(70) } })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('input: nested deeper than 64 levels'),
    });
  });

  it.each([null, [], 'p', 1])('is refused if the input is %j', (input) => {
    expect(checkProgramInput(input)).toMatchObject({ ok: false, code: 'invalid_input', problem: expect.stringMatching(/./) });
  });
});
