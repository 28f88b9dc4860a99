import { describe, expect, test } from 'vitest';
import { ask, problemsOf, warningsOf, withSteps, withUnits } from './programs.ts';

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

  test.each(['a.b', ' a', 'a[0]', '{{a}}', 'a\nb', 'x'.repeat(101)])('can stand in a reference: %j', (name) => {
    expect(problemsOf(withSteps(ask(name)))).toHaveLength(1);
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
    expect(problemsOf(withUnits(unit('a', 'c'), unit('b', 'a'), unit('c', 'b'), unit('d', 'a')))).toEqual([
      'units[0].needs: units need each other in a cycle: a > c > b > a',
    ]);
  });
});
