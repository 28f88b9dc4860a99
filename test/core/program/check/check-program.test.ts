import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { ProgramDocument, StepDocument, UnitDocument } from '../../../../src/core/domain/program-document.ts';
import { checkJson } from '../../../../src/core/json-schema/check-json-schema.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import { PROGRAM_SCHEMA } from '../../../../src/core/program/check/program-schema.ts';
import { propertyRuns } from '../../../property-runs.ts';
import { ask, FULL, problemsOf, warningsOf, withSteps, withUnits } from './programs.ts';

/** Chooses a number below `below`. */
type Choose = (below: number) => number;

/** An arbitrary source of choices. */
const CHOICES: fc.Arbitrary<Choose> = fc.infiniteStream(fc.nat({ max: 1_000_000 })).map((stream) => (below) => {
  const { value } = stream.next();
  return (typeof value === 'number' ? value : 0) % below;
});

/** Makes a program of blocks and steps that each refer to one name, whether it can be seen there or not. */
function randomProgram(choose: Choose): JsonObject {
  const units = Array.from({ length: 1 + choose(3) }, (_, index) => randomUnit(choose, index));
  return withUnits(...units);
}

function randomUnit(choose: Choose, index: number): JsonObject {
  let count = 0;
  const name = (): string => `S${(count += 1)}`;
  const earlier = (): string => (count < 2 ? 'input' : `S${1 + choose(count - 1)}`);
  const reference = (): string => (choose(4) === 0 ? `u${choose(index + 1)}.S${1 + choose(2)}` : earlier());
  const list = (depth: number): JsonObject[] => Array.from({ length: 1 + choose(2) }, () => step(depth));
  const step = (depth: number): JsonObject => {
    const own = name();
    switch (depth > 2 ? 0 : choose(7)) {
      case 1:
        return { name: own, parallel: { branches: [list(depth + 1), list(depth + 1)] } };
      case 2:
        return { name: own, branch: { cases: [{ when: { of: reference(), is: {} }, steps: list(depth + 1) }], else: list(depth + 1) } };
      case 3:
        return { name: own, forEach: { in: 'input.list', as: `i${count}`, steps: list(depth + 1) } };
      case 4: {
        const steps = list(depth + 1);
        return { name: own, repeat: { until: { of: reference(), is: {} }, atMost: 2, steps } };
      }
      default:
        return ask(own, choose(3) > 0 ? 'Go.' : `{{${reference()}}}`);
    }
  };
  const needs = index === 0 || choose(2) === 0 ? {} : { needs: [`u${choose(index)}`] };
  return { name: `u${index}`, ...needs, steps: list(0) };
}

/** Plays a program with chosen cases, orders and rounds. Returns the references that were resolved before their step had run. */
function playedReferences(document: ProgramDocument, choose: Choose): string[] {
  const missing: string[] = [];
  const ran = new Set<string>();
  for (const unit of ordered(document.units, choose)) playList(unit.steps, { unit: unit.name, ran, missing, choose });
  return missing;
}

interface Play {
  unit: string;
  ran: Set<string>;
  missing: string[];
  choose: Choose;
}

function playList(steps: readonly StepDocument[], play: Play): void {
  for (const step of steps) {
    const references = step.ask?.prompt.match(/(?<=\{\{).*(?=\}\})/g) ?? step.branch?.cases.map(({ when }) => when.of) ?? [];
    resolve(references, play);
    playInside(step, play);
    play.ran.add(`${play.unit}.${step.name}`);
  }
}

function playInside({ parallel, branch, forEach, repeat }: StepDocument, play: Play): void {
  const { ran, choose } = play;
  const branches = parallel?.branches ?? [];
  for (const steps of choose(2) === 0 ? branches : branches.toReversed()) playList(steps, play);
  if (branch !== undefined) {
    const taken = choose(2) === 0 ? branch.cases[0]?.steps : branch.else;
    playList(taken ?? [], play);
  }
  if (forEach !== undefined) {
    // Each item has its own steps, and a list may be empty.
    for (let item = choose(3); item > 0; item -= 1) playList(forEach.steps, { ...play, ran: new Set(ran) });
  }
  if (repeat === undefined) return;
  const before = new Set(ran);
  for (let round = 1 + choose(2); round > 0; round -= 1) {
    ran.clear();
    for (const name of before) ran.add(name);
    playList(repeat.steps, play);
    resolve([repeat.until.of], play);
  }
}

function resolve(references: readonly string[], { unit, ran, missing }: Play): void {
  for (const reference of references) {
    const name = reference.includes('.') ? reference : `${unit}.${reference}`;
    if (reference !== 'input' && !ran.has(name)) missing.push(reference);
  }
}

/** Orders units so that each comes after those that it needs. */
function ordered(units: readonly UnitDocument[], choose: Choose): UnitDocument[] {
  if (!units.some(({ needs }) => needs !== undefined)) return [...units];
  const order: UnitDocument[] = [];
  const left = new Set(units);
  while (left.size > 0) {
    const ready = [...left].filter(({ needs = [] }) => needs.every((need) => order.some(({ name }) => name === need)));
    const next = ready[choose(ready.length)];
    if (next === undefined) throw new Error('The units need each other.');
    order.push(next);
    left.delete(next);
  }
  return order;
}

test('a program with every kind of step has no problems', () => {
  expect(problemsOf(FULL)).toEqual([]);
  expect(warningsOf(FULL)).toEqual([]);
});

test('a program without problems refers to nothing that has not run, in any order and in any case', () => {
  let played = 0;
  fc.assert(
    fc.property(CHOICES, (choose) => {
      const { document } = checkProgram(randomProgram(choose));
      if (document === undefined) return;
      played += 1;
      for (let time = 0; time < 5; time += 1) expect(playedReferences(document, choose)).toEqual([]);
    }),
    { seed: 16, numRuns: propertyRuns(4_000) },
  );
  expect(played).toBeGreaterThan(propertyRuns(200));
});

describe('names', () => {
  test('are unique', () => {
    const unit = { name: 'u', steps: [ask('A'), { name: 'P', parallel: { branches: [[ask('A')]] } }] };
    expect(problemsOf(withUnits(unit, { name: 'u', steps: [ask('A')] }))).toEqual([
      'units[0].steps[1].parallel.branches[0][0].name: units[0].steps[0] is also named "A": give each step its own name',
      'units[1].name: units[0] is also named "u": give each unit its own name',
    ]);
  });

  test.each(['input', 'output', 'item'])('are not reserved: %s', (name) => {
    expect(problemsOf(withSteps(ask(name)))).toEqual([
      `units[0].steps[0].name: "${name}" has another meaning in references: choose another name`,
    ]);
  });

  test.each(['a.b', ' a', 'a[0]', '{{a}}', 'a\nb', 'x'.repeat(101)])('that could not appear in a reference are refused: %j', (name) => {
    expect(problemsOf(withSteps(ask(name)))).toHaveLength(1);
  });

  test('are not those of further attempts of another step, whose calls and runs would have the same ids', () => {
    expect(problemsOf(withSteps(ask('Call'), { name: 'P', parallel: { branches: [[ask('Call#2')]] } }))).toEqual([
      'units[0].steps[1].parallel.branches[0][0].name: "Call#2" is the name of attempt 2 of the step "Call": choose another name',
    ]);
    expect(problemsOf(withSteps(ask('Call#1'), ask('Call#2'), ask('Call #3')))).toEqual([]);
    expect(problemsOf(withSteps(ask('')))).toEqual(['units[0].steps[0].name: expected at least 1 character, got 0']);
  });

  test('of items hide no step and no unit, and an outer item only with a warning', () => {
    const each = (name: string, as: string | undefined, ...steps: object[]): object => ({
      name,
      forEach: { in: '{{input.x}}', ...(as === undefined ? {} : { as }), steps },
    });
    const hidden = withSteps(
      { ...ask('A') },
      { ...each('B', 'A', ask('C')) },
      { ...each('D', 'u', ask('E')) },
      { ...each('F', 'input', ask('G')) },
    );
    expect(problemsOf(hidden)).toEqual([
      'units[0].steps[1].forEach.as: "A" is also the name of a step: give the item its own name',
      'units[0].steps[2].forEach.as: "u" is also the name of a unit: give the item its own name',
      'units[0].steps[3].forEach.as: "input" has another meaning in references: choose another name',
    ]);
    expect(warningsOf(withSteps({ ...each('Outer', undefined, each('Inner', undefined, ask('A'))) }))).toEqual([
      'units[0].steps[0].forEach.steps[0]: "item" is also the item of "Outer", which is hidden here: name it with "as"',
    ]);
  });
});

describe('needs', () => {
  const unit = (name: string, ...needs: string[]): { name: string; needs: string[]; steps: ReturnType<typeof ask>[] } => ({
    name,
    needs,
    steps: [ask('A')],
  });

  test('name other units', () => {
    expect(problemsOf(withUnits(unit('sort'), unit('b', 'srt', 'b')))).toEqual([
      'units[1].needs[0]: no unit is named "srt". Did you mean "sort"?',
      'units[1].needs[1]: the unit "b" cannot need itself',
    ]);
  });

  test('have no cycle', () => {
    expect(problemsOf(withUnits(unit('a', 'c'), unit('b', 'a'), unit('c', 'b'), unit('d', 'x')))).toEqual([
      'units[0].needs: units need each other in a cycle: a > c > b > a',
      'units[3].needs[0]: no unit is named "x"',
    ]);
  });
});

describe('the shape of a document', () => {
  test('matches its JSON Schema', () => {
    expect(checkJson(PROGRAM_SCHEMA, FULL)).toEqual([]);
    expect(checkJson(PROGRAM_SCHEMA, withSteps({ name: 'A' }))).not.toEqual([]);
  });

  test('needs its fields', () => {
    expect(problemsOf({})).toEqual([
      ': missing required field "version"',
      ': missing required field "name"',
      ': missing required field "units"',
    ]);
    expect(problemsOf({ version: 2, name: 'p', units: [{}] })).toEqual([
      'version: expected 1, got 2',
      'units[0]: missing required field "name"',
      'units[0]: missing required field "steps"',
    ]);
  });

  test.each([
    [undefined, 'expected an object, got undefined'],
    [null, 'expected an object, got null'],
    ['text', 'expected an object, got string'],
    [[], 'expected an object, got array'],
  ])('is an object: %j', (document, message) => {
    expect(problemsOf(document)).toEqual([`: ${message}`]);
  });

  test('has steps of exactly one kind', () => {
    expect(problemsOf(withSteps({ name: 'A' }, { ...ask('B'), sleep: { for: 1 } }))).toEqual([
      'units[0].steps[0]: the step has no kind: write one of ask, tool, agent, program, human, sleep, remember, recall, parallel, branch, forEach, repeat',
      'units[0].steps[1]: the step has 2 kinds, "ask" and "sleep": make a step of each',
    ]);
  });

  test('has no unknown fields, and names the nearest ones', () => {
    const step = { ...ask('A', 'Go.', { promt: 'x' }), refine: { maxAttempt: 3 }, aproval: true };
    expect(problemsOf({ ...withSteps(step), modell: 'x' })).toEqual([
      ': unknown field "modell". Did you mean "model"?',
      'units[0].steps[0].refine: unknown field "maxAttempt". Did you mean "maxAttempts"?',
      'units[0].steps[0]: unknown field "aproval". Did you mean "approval"?',
      'units[0].steps[0].ask: unknown field "promt". Did you mean "prompt"?',
    ]);
  });

  test('has no ask that runs code', () => {
    expect(problemsOf(withSteps(ask('A', 'Go.', { code: { executor: 'quickjs' } })))).toEqual([
      expect.stringMatching(/^units\[0\]\.steps\[0\]\.ask: unknown field "code"/),
    ]);
  });

  test('has values of the right types at every depth', () => {
    const steps = [
      { name: 'A', forEach: { in: 'input.x', atOnce: 101, steps: [{ name: 'B', ask: { prompt: 1 } }, 5, { name: 'C', ask: 'x' }] } },
    ];
    expect(problemsOf(withSteps(...steps))).toEqual([
      'units[0].steps[0].forEach.steps[1]: expected object, got number',
      'units[0].steps[0].forEach.atOnce: expected a number <= 100, got 101',
      'units[0].steps[0].forEach.steps[0].ask.prompt: expected string, got number',
      'units[0].steps[0].forEach.steps[2].ask: expected object, got string',
    ]);
  });

  test('has attempts and rounds within bounds', () => {
    const refined = { ...ask('A'), refine: { maxAttempts: 21, backoff: 'slow', onExhaustion: 'stop' } };
    const repeat = { name: 'R', repeat: { atMost: 0, until: { of: 'B', is: {} }, steps: [ask('B')] } };
    expect(problemsOf(withSteps(refined, repeat))).toEqual([
      'units[0].steps[0].refine.maxAttempts: expected a number <= 20, got 21',
      'units[0].steps[0].refine.backoff: expected "none", "linear" or "exponential", got "slow"',
      'units[0].steps[0].refine.onExhaustion: expected "fail", "skip" or "fallback", got "stop"',
      'units[0].steps[1].repeat.atMost: expected a number >= 1, got 0',
    ]);
  });
});

describe('the path of a problem', () => {
  test('leads into the document also where a list is missing', () => {
    const when = { of: 'input.x', is: {} };
    const branch = { cases: ['text', { when }, { when, steps: 'A' }, { when, steps: [] }] };
    expect(problemsOf(withSteps({ name: 'B', branch }))).toEqual([
      'units[0].steps[0].branch.cases[2].steps: expected array, got string',
      'units[0].steps[0].branch.cases[0]: expected object, got string',
      'units[0].steps[0].branch.cases[1]: missing required field "steps"',
      'units[0].steps[0].branch.cases[3].steps: the list has no step',
    ]);
  });

  test('quotes keys that are not identifiers', () => {
    const output = { type: 'object', properties: { 'a.b': 5, 日本: 'x', plain: 7 } };
    expect(problemsOf(withSteps(ask('A', 'Go.', { output })))).toEqual([
      'units[0].steps[0].ask.output.properties["a.b"]: expected object or boolean, got number',
      'units[0].steps[0].ask.output.properties["日本"]: expected object or boolean, got string',
      'units[0].steps[0].ask.output.properties.plain: expected object or boolean, got number',
    ]);
  });
});

test('a number that is too large to be exact is refused', () => {
  const limits = { steps: 1e21, toolCalls: 2 ** 53, costUsd: 1e21 };
  expect(problemsOf({ ...withSteps(ask('A'), { name: 'R', recall: { query: 'x', topK: 1e308 } }), limits })).toEqual([
    'limits.steps: expected a number <= 9007199254740991, got 1e+21',
    'limits.toolCalls: expected a number <= 9007199254740991, got 9007199254740992',
    'units[0].steps[1].recall.topK: expected a number <= 9007199254740991, got 1e+308',
  ]);
});

describe('the size of a document', () => {
  test('is bounded in bytes', () => {
    expect(problemsOf(withSteps(ask('A', 'x'.repeat(400_000))))[0]).toMatch(
      /^: the document has 400\d\d\d bytes of JSON, more than 400000/,
    );
  });

  test('is bounded in steps', () => {
    const steps = Array.from({ length: 1_002 }, (_, index) => ask(`S${index}`));
    expect(problemsOf(withSteps(...steps))).toEqual(['units[0].steps[1000]: the program has more than 1000 steps']);
  });

  test('is bounded in levels', () => {
    let step = ask('Inner');
    for (let level = 2; level <= 17; level += 1) step = { name: `L${level}`, forEach: { in: 'input.x', as: `i${level}`, steps: [step] } };
    const [problem, ...others] = problemsOf(withSteps(step));
    expect(problem).toMatch(/forEach\.steps: the steps are nested deeper than 16 levels$/);
    expect(others).toEqual([expect.stringMatching(/the list has no step$/)]);
    expect(problemsOf(withSteps((step['forEach'] as { steps: [typeof step] }).steps[0]))).toEqual([]);
  });
});
