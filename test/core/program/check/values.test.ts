import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { KnownNames } from '../../../../src/core/program/check/check-known.ts';
import { ask, problemsOf, warningsOf, withSteps, withUnits } from './programs.ts';

const FIND = {
  name: 'find',
  schema: {
    type: 'object',
    properties: {
      query: { type: 'string' },
      limit: { type: 'integer', maximum: 10 },
      filter: {
        type: 'object',
        properties: { tag: { enum: ['a', 'b'] }, from: { type: 'number' } },
        required: ['tag'],
        additionalProperties: false,
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
};

const KNOWN: KnownNames = {
  tools: [FIND],
  agents: [{ name: 'desk', depsSchema: { type: 'object', properties: { user: { type: 'string' } }, required: ['user'] } }],
  programs: [{ name: 'other', input: { type: 'object', properties: { n: { type: 'number' } } } }],
  anchors: [{ name: 'NoHallucination' }],
  providers: ['scripted'],
  hasMemory: false,
};

function find(args: object): string[] {
  return problemsOf(withSteps({ name: 'A', tool: { name: 'find', arguments: { ...args } } }), KNOWN);
}

describe('the name of a tool, agent, program or memory of the worker', () => {
  test('is checked', () => {
    const steps = [
      { name: 'A', tool: { name: 'fnd' } },
      { name: 'B', agent: { name: 'dsk', input: 'x' } },
      { name: 'C', program: { name: 'othr' } },
      { name: 'D', recall: { query: 'q' } },
      ask('E', 'Go.', { model: 'scriptd/x', anchors: ['NoHalucination'] }),
    ];
    expect(problemsOf(withSteps(...steps), KNOWN)).toEqual([
      'units[0].steps[0].tool.name: no tool is named "fnd". Did you mean "find"?',
      'units[0].steps[1].agent.name: no agent is named "dsk". Did you mean "desk"?',
      'units[0].steps[2].program.name: no program is named "othr". Did you mean "other"?',
      'units[0].steps[3].recall: the worker has no memory: give it one with the option "memory"',
      'units[0].steps[4].ask.model: no provider of models is named "scriptd". Did you mean "scripted"?',
      'units[0].steps[4].ask.anchors[0]: no anchor is named "NoHalucination". Did you mean "NoHallucination"?',
    ]);
    expect(problemsOf(withSteps(...steps))).toEqual([]);
  });

  test('can be tools of an ask, each with its own problem', () => {
    expect(problemsOf(withSteps(ask('A', 'Go.', { tools: ['find'], limits: { steps: 3 } })), KNOWN)).toEqual([]);
    expect(problemsOf(withSteps(ask('A'), ask('B', 'Go.', { tools: ['finds', 'find', 'find'] })), KNOWN)).toEqual([
      'units[0].steps[1].ask.tools[2]: the tool "find" is there twice',
      'units[0].steps[1].ask.tools[0]: no tool is named "finds". Did you mean "find"?',
    ]);
    expect(problemsOf(withSteps(ask('A', 'Go.', { tools: ['finds'] })))).toEqual([]);
  });

  test('lacks tools of a lenient program only with a warning', () => {
    const document = { ...withSteps(ask('A', 'Go.', { tools: ['finds'] })), lenient: true };
    expect(problemsOf(document, KNOWN)).toEqual([]);
    expect(warningsOf(document, KNOWN)).toEqual(['units[0].steps[0].ask.tools[0]: no tool is named "finds". Did you mean "find"?']);
  });

  test('is an ask with a list of at least one tool, or none', () => {
    expect(problemsOf(withSteps(ask('A', 'Go.', { tools: [] })))).toEqual(['units[0].steps[0].ask.tools: expected at least 1 item, got 0']);
    expect(problemsOf(withSteps(ask('A', 'Go.', { tools: 'find' })))).toEqual(['units[0].steps[0].ask.tools: expected array, got string']);
    expect(problemsOf(withSteps(ask('A', 'Go.', { limits: { steps: 3 } })))).toEqual([
      'units[0].steps[0].ask.limits: one model call has no separate limits: write them with "tools", or "limits" of the program',
    ]);
  });

  test('lacks anchors of a lenient program only with a warning', () => {
    const document = { ...withUnits({ name: 'u', anchors: ['Nope'], steps: [ask('A')] }), lenient: true };
    expect(problemsOf(document, KNOWN)).toEqual([]);
    expect(warningsOf(document, KNOWN)).toEqual(['units[0].anchors[0]: no anchor is named "Nope"']);
  });

  test('takes literal arguments that fit', () => {
    expect(find({ query: 'x', limit: 5 })).toEqual([]);
    expect(find({ query: 1, limit: 20, extra: true })).toEqual([
      'units[0].steps[0].tool.arguments.query: expected string, got number',
      'units[0].steps[0].tool.arguments.limit: expected a number <= 10, got 20',
      'units[0].steps[0].tool.arguments: unknown field "extra"',
    ]);
  });

  test('takes any value of a reference, and the text around one', () => {
    expect(find({ query: '{{input.q}}', limit: '{{input.limit}}', filter: { tag: '{{input.tag}}' } })).toEqual([]);
    expect(find({ query: 'x', limit: 'no {{input.limit}}', filter: { tg: '{{input.tag}}' } })).toEqual([
      'units[0].steps[0].tool.arguments.limit: expected integer, got string',
      'units[0].steps[0].tool.arguments.filter: missing required field "tag"',
      'units[0].steps[0].tool.arguments.filter: unknown field "tg"',
    ]);
    expect(find({ limit: '{{input.limit}}' })).toEqual(['units[0].steps[0].tool.arguments: missing required field "query"']);
  });

  test('takes the deps of agents and the input of programs', () => {
    const steps = [
      { name: 'A', agent: { name: 'desk', input: 'x' } },
      { name: 'B', program: { name: 'other', input: { n: 'one' } } },
    ];
    expect(problemsOf(withSteps(...steps), KNOWN)).toEqual([
      'units[0].steps[0].agent.deps: missing required field "user"',
      'units[0].steps[1].program.input.n: expected number, got string',
    ]);
  });
});

describe('schemas', () => {
  test('are JSON Schemas', () => {
    const output = { type: 'txt', properties: { a: { minimum: '1' }, b: { $ref: '#/$defs/none' }, c: { pattern: '(' } } };
    expect(problemsOf({ ...withSteps(ask('A', 'Go.', { output })), input: { type: 'array' } })).toEqual([
      'input: the input of a program is an object: write "type": "object"',
      'units[0].steps[0].ask.output.properties.a.minimum: expected number, got string',
      expect.stringMatching(/^units\[0\]\.steps\[0\]\.ask\.output\.type: expected "null", .*got "txt"$/),
      'units[0].steps[0].ask.output: the pattern "(" is not a regular expression',
      'units[0].steps[0].ask.output: the "$ref" "#/$defs/none" leads to no schema',
    ]);
  });

  test('of conditions have no patterns', () => {
    const when = { of: 'input.x', is: { anyOf: [{ pattern: '^a' }] } };
    expect(problemsOf(withSteps({ ...ask('A'), when }))).toEqual([
      'units[0].steps[0].when.is: a condition cannot have "pattern": compare with "const", "enum" or bounds',
    ]);
    expect(problemsOf(withSteps(ask('A', 'Go.', { output: { type: 'string', pattern: '^a' } })))).toEqual([]);
  });
});

describe('settings', () => {
  test('have durations that can be read', () => {
    const steps = [
      { ...ask('A'), timeout: '5 minutes', approval: { deadline: 0 } },
      { name: 'B', sleep: { for: 'soon' } },
    ];
    expect(problemsOf({ ...withSteps(...steps), limits: { deadline: '1w' } }).map((problem) => problem.split(':')[0])).toEqual([
      'limits.deadline',
      'units[0].steps[0].timeout',
      'units[0].steps[0].approval.deadline',
      'units[0].steps[1].sleep.for',
    ]);
  });

  test('of a question have no decision of its deadline but "reject"', () => {
    const asked = (onDeadline: string) => ({ name: 'H', human: { question: 'Who?', deadline: '1h', onDeadline } });
    expect(problemsOf(withSteps(asked('approve')))).toEqual([
      'units[0].steps[0].human.onDeadline: a deadline cannot answer a question: leave "onDeadline" out, or write "reject"',
    ]);
    expect(problemsOf(withSteps(asked('reject')))).toEqual([]);
  });

  test('of steps that only wait have no timeout', () => {
    const steps = [
      { name: 'H', human: { question: 'Who?' }, timeout: '1h' },
      { name: 'S', sleep: { for: '1h' }, timeout: '1m' },
    ];
    expect(problemsOf(withSteps(...steps))).toEqual([
      'units[0].steps[0].timeout: a step of the kind "human" only waits and has no "timeout": write "deadline" of "human"',
      'units[0].steps[1].timeout: a step of the kind "sleep" only waits and has no "timeout": leave it out',
    ]);
  });

  test('name a model for every ask', () => {
    const { model: _model, ...document } = withSteps(ask('A'), ask('B', 'Go.', { model: 'gpt' }));
    expect(problemsOf(document)).toEqual([
      'units[0].steps[0].ask: there is no model: write "model" here or at the program',
      'units[0].steps[1].ask.model: the model "gpt" has no provider: write "provider/model"',
    ]);
  });

  test('of a block apply to its steps', () => {
    expect(problemsOf(withSteps({ name: 'P', parallel: { branches: [[ask('A')]] }, refine: {}, timeout: '1s' }))).toEqual([
      'units[0].steps[0].refine: a block of the kind "parallel" cannot have "refine": write it at its steps',
      'units[0].steps[0].timeout: a block of the kind "parallel" cannot have "timeout": write it at its steps',
    ]);
  });

  test('may name a fallback that is not a step, or no fallback, in a lenient program', () => {
    const falls = (fallback?: string): JsonObject => ({ onExhaustion: 'fallback', ...(fallback === undefined ? {} : { fallback }) });
    const document = {
      ...withSteps(
        { ...ask('A'), refine: falls('Other flow') },
        { ...ask('B'), refine: falls() },
        { ...ask('C'), refine: { fallback: 'A' } },
      ),
      lenient: true,
    };
    expect(problemsOf(document)).toEqual([]);
    expect(warningsOf(document)).toEqual([
      'units[0].steps[0].refine.fallback: no step of the same list is named "Other flow"',
      'units[0].steps[1].refine: "onExhaustion" is "fallback": name a step in "fallback"',
      'units[0].steps[2].refine.fallback: the fallback is never taken: write "onExhaustion": "fallback" too',
    ]);
    const inside = { name: 'P', parallel: { branches: [[ask('Q')]] } };
    expect(problemsOf({ ...withSteps({ ...ask('A'), refine: falls('Q') }, inside), lenient: true })).toHaveLength(1);
  });

  test('name a fallback in the same list, which does not lead back', () => {
    const falls = (name: string, fallback: string): object => ({ ...ask(name), refine: { onExhaustion: 'fallback', fallback } });
    expect(problemsOf(withSteps({ ...falls('A', 'Bb') }, { ...ask('B'), refine: { onExhaustion: 'fallback' } }))).toEqual([
      'units[0].steps[0].refine.fallback: no step of the same list is named "Bb". Did you mean "B"?',
      'units[0].steps[1].refine: "onExhaustion" is "fallback": name a step in "fallback"',
    ]);
    expect(
      problemsOf(
        withSteps({ ...falls('A', 'B') }, { ...falls('B', 'A') }, { ...falls('C', 'C') }, { ...ask('D'), refine: { fallback: 'A' } }),
      ),
    ).toEqual([
      'units[0].steps[0].refine.fallback: "B" falls back to this step in turn',
      'units[0].steps[1].refine.fallback: "A" falls back to this step in turn',
      'units[0].steps[2].refine.fallback: a step cannot be its own fallback',
      'units[0].steps[3].refine.fallback: the fallback is never taken: write "onExhaustion": "fallback" too',
    ]);
  });

  test('leave no list of steps empty, unless the program is lenient', () => {
    expect(problemsOf(withUnits({ name: 'u', steps: [] }))).toEqual(['units[0].steps: the unit has no step']);
    expect(problemsOf(withUnits())).toEqual(['units: the program has no unit']);
    expect(problemsOf({ ...withUnits(), lenient: true })).toEqual([]);
    expect(problemsOf(withSteps(ask('A', 'Go.', { range: { min: 2, max: 1 } })))).toEqual([
      'units[0].steps[0].ask.range: "min" is 2, more than "max", which is 1',
    ]);
  });
});
