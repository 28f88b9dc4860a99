import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { ask, problemsOf, warningsOf, withSteps, withUnits } from './programs.ts';

const SCHEMA = { type: 'object', properties: { kind: { type: 'string' }, list: { type: 'array', items: { type: 'string' } } } };

function inParallel(...branches: JsonObject[][]): JsonObject {
  return { name: 'Both', parallel: { branches } };
}

function inCase(steps: JsonObject[], otherwise: JsonObject[] = [ask('Other')]): JsonObject {
  return { name: 'Case', branch: { cases: [{ when: { of: 'input', is: {} }, steps }], else: otherwise } };
}

describe('a reference inside a unit', () => {
  test('may name steps that ran before it, and the input', () => {
    expect(problemsOf(withSteps(ask('A', '{{input.any[0]}}'), ask('B', '{{A}} {{ A.output }} {{u.A}}')))).toEqual([]);
  });

  test('is refused for names that are unknown, with the nearest one', () => {
    expect(problemsOf(withSteps(ask('Extract'), ask('B', '{{Extrct}}')))).toEqual([
      'units[0].steps[1].ask.prompt: "{{Extrct}}": nothing is named "Extrct" here. Did you mean "Extract"?',
    ]);
    expect(problemsOf(withSteps(ask('A', '{{inpt.x}}')))).toEqual([
      'units[0].steps[0].ask.prompt: "{{inpt.x}}": nothing is named "inpt" here. Did you mean "input"?',
    ]);
  });

  test('is refused for the step itself, and for later ones', () => {
    expect(problemsOf(withSteps(ask('A', '{{A}} {{B}}'), ask('B')))).toEqual([
      'units[0].steps[0].ask.prompt: "{{A}}": a step cannot refer to itself',
      'units[0].steps[0].ask.prompt: "{{B}}": "B" runs after this step',
    ]);
  });

  test('sees the steps of parallel branches after them, and not from branch to branch', () => {
    expect(problemsOf(withSteps(inParallel([ask('A')], [ask('B'), ask('C', '{{B}}')]), ask('D', '{{A}} {{C}} {{Both}}')))).toEqual([]);
    expect(problemsOf(withSteps(inParallel([ask('A')], [ask('B', '{{A}}')])))).toEqual([
      'units[0].steps[0].parallel.branches[1][0].ask.prompt: "{{A}}": "A" runs in parallel with this step, in another branch of "Both"',
    ]);
  });

  test('sees the steps of a case inside that case alone', () => {
    expect(problemsOf(withSteps(inCase([ask('A'), ask('B', '{{A}}')]), ask('C', '{{Case}}')))).toEqual([]);
    expect(problemsOf(withSteps(inCase([ask('A')], [ask('B', '{{A}}')]), ask('C', '{{A}}')))).toEqual([
      'units[0].steps[0].branch.else[0].ask.prompt: "{{A}}": "A" runs in another case of "Case"',
      'units[0].steps[1].ask.prompt: "{{A}}": "A" may not have run, and is not visible outside of "Case": refer to "Case" instead',
    ]);
  });

  test('sees the item and the steps of forEach only inside it', () => {
    const each = {
      name: 'Each',
      forEach: { in: '{{input.list}}', as: 'document', steps: [ask('A', '{{document.text}}'), ask('B', '{{A}}')] },
    };
    expect(problemsOf(withSteps(each, ask('C', '{{Each[0]}}')))).toEqual([]);
    expect(problemsOf(withSteps(each, ask('C', '{{A}} {{document}}')))).toEqual([
      'units[0].steps[1].ask.prompt: "{{A}}": "A" runs once for each item, and is not visible outside of "Each": refer to "Each" instead',
      'units[0].steps[1].ask.prompt: "{{document}}": nothing is named "document" here',
    ]);
  });

  test('sees the steps of repeat after it, and inside it the steps of the round so far', () => {
    const repeat = (...steps: JsonObject[]): JsonObject => ({ name: 'R', repeat: { atMost: 2, until: { of: 'B', is: {} }, steps } });
    expect(problemsOf(withSteps(repeat(ask('A'), ask('B', '{{A}}')), ask('C', '{{A}} {{R}}')))).toEqual([]);
    expect(problemsOf(withSteps(repeat(ask('A', '{{B}} {{R}}'), ask('B'))))).toEqual([
      'units[0].steps[0].repeat.steps[0].ask.prompt: "{{B}}": "B" runs after this step',
      'units[0].steps[0].repeat.steps[0].ask.prompt: "{{R}}": the block "R" has not ended inside itself',
    ]);
  });

  test('may name steps that may be skipped', () => {
    const skipped = { ...ask('A'), when: { of: 'input', is: {} }, refine: { onExhaustion: 'skip' } };
    expect(problemsOf(withSteps(skipped, ask('B', '{{A}}')))).toEqual([]);
  });

  test('is refused for fields that the declared output does not have', () => {
    const steps = [
      ask('Kind', 'Go.', { output: SCHEMA }),
      ask('Text'),
      ask('C', '{{Kind.knd}} {{Kind.output.list[0]}} {{Kind.list.x}} {{Text.kind}}'),
    ];
    expect(problemsOf(withSteps(...steps))).toEqual([
      'units[0].steps[2].ask.prompt: "{{Kind.knd}}": there is no field "knd". Did you mean "kind"?',
      'units[0].steps[2].ask.prompt: "{{Kind.list.x}}": there is no field "x" in a value of the type array',
      'units[0].steps[2].ask.prompt: "{{Text.kind}}": there is no field "kind" in a value of the type string',
    ]);
    const open = { ...SCHEMA, additionalProperties: true };
    expect(problemsOf(withSteps(ask('Kind', 'Go.', { output: open }), ask('C', '{{Kind.knd}}')))).toEqual([]);
  });

  test('is refused for fields that the declared input does not have', () => {
    const input = { type: 'object', properties: { ticket: { type: 'string' } } };
    expect(problemsOf({ ...withSteps(ask('A', '{{input.tickt}} {{input.ticket}}')), input })).toEqual([
      'units[0].steps[0].ask.prompt: "{{input.tickt}}": there is no field "tickt". Did you mean "ticket"?',
    ]);
  });

  test('of a later fallback is also checked where it may run', () => {
    const first = { ...ask('A'), refine: { onExhaustion: 'fallback', fallback: 'C' } };
    expect(problemsOf(withSteps(first, ask('B'), ask('C', '{{B}}')))).toEqual([
      'units[0].steps[2].ask.prompt: "{{B}}": "B" may not have run when this step runs as the fallback of "A"',
    ]);
    expect(problemsOf(withSteps(ask('B'), first, ask('C', '{{B}}')))).toEqual([]);
  });

  test('of a fallback of a fallback is checked where it may run first', () => {
    const falls = (name: string, fallback: string): JsonObject => ({ ...ask(name), refine: { onExhaustion: 'fallback', fallback } });
    expect(problemsOf(withSteps(falls('A', 'B'), falls('B', 'C'), ask('C', '{{A}}')))).toEqual([
      'units[0].steps[2].ask.prompt: "{{A}}": "A" may not have run when this step runs as the fallback of "B"',
    ]);
    expect(problemsOf(withSteps(ask('C'), falls('A', 'B'), falls('B', 'C'), ask('D', '{{A}}, {{B}}, {{C}}')))).toEqual([]);
  });

  test('of a step inside a fallback is checked where the fallback may run, and any other problem of it is told once', () => {
    const first = { ...ask('A'), refine: { onExhaustion: 'fallback', fallback: 'F' } };
    const block = { name: 'F', parallel: { branches: [[ask('C'), ask('D', '{{B}} {{C}} {{Gone}}')]] } };
    const path = 'units[0].steps[2].parallel.branches[0][1].ask.prompt';
    expect(problemsOf(withSteps(first, ask('B'), block))).toEqual([
      `${path}: "{{B}}": "B" may not have run when "F" runs as the fallback of "A"`,
      `${path}: "{{Gone}}": nothing is named "Gone" here`,
    ]);
    expect(problemsOf(withSteps(first, ask('B'), ask('F', '{{Gone}}')))).toEqual([
      'units[0].steps[2].ask.prompt: "{{Gone}}": nothing is named "Gone" here',
    ]);
  });

  test('is found in arguments, conditions, lists and waits', () => {
    const gone = { of: 'Gone', is: {} };
    const steps = [
      { name: 'A', tool: { name: 't', arguments: { list: [{ a: '{{Gone}}' }] } }, when: gone },
      { name: 'B', sleep: { for: '{{Gone}}' } },
      { name: 'C', forEach: { in: 'Gone', steps: [{ name: 'D', remember: { key: 'k', value: { a: '{{Gone}}' } } }] } },
      { name: 'E', branch: { cases: [{ when: gone, steps: [ask('F')] }] } },
    ];
    expect(problemsOf(withSteps(...steps)).map((problem) => problem.split(':')[0])).toEqual([
      'units[0].steps[0].when.of',
      'units[0].steps[0].tool.arguments.list[0].a',
      'units[0].steps[1].sleep.for',
      'units[0].steps[2].forEach.in',
      'units[0].steps[2].forEach.steps[0].remember.value.a',
      'units[0].steps[3].branch.cases[0].when.of',
    ]);
  });

  test('must be one where a value is needed', () => {
    expect(problemsOf(withSteps({ name: 'A', forEach: { in: 'a {{b}}', steps: [ask('B')] } }))).toEqual([
      'units[0].steps[0].forEach.in: "a {{b}}" is not a reference: write one such as "{{Step.items}}"',
    ]);
  });

  test('is refused where it would not be resolved', () => {
    expect(problemsOf(withSteps({ name: 'A', recall: { query: 'q', scope: '{{input.user}}' } }))).toEqual([
      'units[0].steps[0].recall.scope: references are not resolved here: "{{input.user}}" would stay unchanged',
    ]);
  });
});

describe('a reference to another unit', () => {
  const one = { name: 'one', steps: [ask('A'), inCase([ask('B')])] };

  test('may name the steps of units that have ended', () => {
    expect(problemsOf(withUnits(one, { name: 'two', persona: '{{one.A}}', steps: [ask('A', '{{one.A}} {{one.Case}}')] }))).toEqual([]);
    expect(
      problemsOf(
        withUnits({ name: 'two', needs: ['mid'], steps: [ask('X', '{{one.A}}')] }, { name: 'mid', needs: ['one'], steps: [ask('M')] }, one),
      ),
    ).toEqual([]);
  });

  test('is refused if the unit may not have ended', () => {
    expect(problemsOf(withUnits({ name: 'two', steps: [ask('X', '{{one.A}}')] }, one))).toEqual([
      'units[0].steps[0].ask.prompt: "{{one.A}}": the unit "one" runs after this one',
    ]);
    const side = { name: 'side', needs: ['other'], steps: [ask('X', '{{one.A}}')] };
    expect(problemsOf(withUnits(one, { name: 'other', steps: [ask('O')] }, side))).toEqual([
      'units[2].steps[0].ask.prompt: "{{one.A}}": the unit "one" may not have ended: add it to "needs" of the unit "side"',
    ]);
  });

  test('is refused for steps that it does not have or show, and for the unit alone', () => {
    expect(problemsOf(withUnits(one, { name: 'two', steps: [ask('X', '{{one.Z}} {{one.B}} {{one}}')] }))).toEqual([
      'units[1].steps[0].ask.prompt: "{{one.Z}}": the unit "one" has no step "Z"',
      'units[1].steps[0].ask.prompt: "{{one.B}}": "B" may not have run, and is not visible outside of "Case": refer to "Case" instead',
      'units[1].steps[0].ask.prompt: "{{one}}" is a unit: name one of its steps',
    ]);
  });

  test('in the output may name all units, each step with its unit', () => {
    expect(problemsOf({ ...withUnits(one), output: { a: '{{one.A}}', b: ['{{input.x}}'] } })).toEqual([]);
    expect(problemsOf({ ...withUnits(one), output: '{{A}}' })).toEqual(['output: "{{A}}": name the unit of the step, as in "{{one.A}}"']);
  });

  test('that is hidden by a step of the same name is a warning', () => {
    expect(warningsOf(withUnits(one, { name: 'two', steps: [ask('one'), ask('X', '{{one.A}}')] }))).toContain(
      'units[1].steps[1].ask.prompt: "{{one.A}}" is the field "A" of the step "one", not a step of the unit of that name',
    );
  });
});

describe('a lenient program', () => {
  test('has unknown references as warnings', () => {
    const document = { ...withSteps(ask('A', '{{Gone}} {{B}}'), ask('B', '{{A.x}}')), lenient: true };
    expect(problemsOf(document)).toEqual([]);
    expect(warningsOf(document)).toHaveLength(3);
  });
});

test('braces that hold no reference are a warning', () => {
  expect(warningsOf(withSteps(ask('A', 'Fill in {{ "x": 1 }}')))).toEqual([
    'units[0].steps[0].ask.prompt: "{{ "x": 1 }}" is not a reference, and stays unchanged',
  ]);
});
