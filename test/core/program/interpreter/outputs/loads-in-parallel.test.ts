import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProgramDocument, StepDocument } from '../../../../../src/core/domain/program-document.ts';
import { checkProgram } from '../../../../../src/core/program/check/check-program.ts';
import { testTool } from '../../../loop/fakes/snapshot.ts';
import { propertyRuns } from '../../../../property-runs.ts';
import { type FakeProgram, type FakeProgramRun, runFakeProgram } from '../fake-program.ts';

/** One execution loads 16 MB. Stored outputs count ten times their bytes, so that the tests move few. */
const FACTOR = 10;
const MOST_MB = 16;

/** The outputs that steps refer to, with their megabytes in the payload store. */
const OUTPUTS: Record<string, number> = { Two: 2, Three: 3, Five: 5, Seven: 7 };

/** Lists of two outputs each. */
const LISTS: Record<string, number> = { Pair: 3, Couple: 6, Twins: 8 };

const ask = (name: string): StepDocument => ({ name, ask: { prompt: `do ${name}` } });

/** A program whose first unit makes the large outputs, and whose second runs steps that refer to them. */
function programOf(steps: readonly StepDocument[]): ProgramDocument {
  const pairs = Object.keys(LISTS).map((name) => ({ name, parallel: { branches: [[ask(`${name}Left`)], [ask(`${name}Right`)]] } }));
  return {
    version: 1,
    name: 'p',
    model: 'p/m',
    units: [
      { name: 'read', steps: [...Object.keys(OUTPUTS).map(ask), ...pairs, ask('Then')] },
      { name: 'work', steps: [...steps] },
    ],
    output: 'over',
  };
}

/** Answers with texts that have the megabytes of their step once they are stored. */
const answer: FakeProgram['answer'] = ({ address }) => {
  const step = address.slice('read.'.length);
  const list = Object.entries(LISTS).find(([name]) => step.startsWith(name));
  const megabytes = list === undefined ? (OUTPUTS[step] ?? 0) : list[1] / 2;
  return 'x'.repeat(Math.max(1, Math.floor((megabytes * 1_000_000) / FACTOR) - 10));
};

function run(steps: readonly StepDocument[], more: Partial<FakeProgram> = {}): Promise<FakeProgramRun> {
  return runFakeProgram({ document: programOf(steps), answer, storedFactor: FACTOR, tools: [testTool('t')], answersAfter: 2, ...more });
}

const often = (): boolean => true;

/** Continues as new once, before the last step of the first unit: the large outputs are stored, and nothing else is due. */
function onceStored(): Pick<FakeProgram, 'answer' | 'continueDue'> {
  const answered = new Set<string>();
  return {
    answer: (call) => {
      answered.add(call.address);
      return answer(call);
    },
    continueDue: () => answered.has('read.TwinsLeft') && answered.has('read.TwinsRight') && answered.delete('read.TwinsLeft'),
  };
}

const uses = (name: string, ...outputs: readonly string[]): StepDocument => ({
  name,
  tool: { name: 't', arguments: Object.fromEntries(outputs.map((one) => [one, `{{read.${one}}}`])) },
});

const forEach = (name: string, list: string, steps: StepDocument[], atOnce = 2): StepDocument => ({
  name,
  forEach: { in: `{{read.${list}}}`, as: `${name}Item`, atOnce, steps },
});

const inParallel = (...branches: StepDocument[][]): StepDocument => ({ name: 'Side', parallel: { branches } });

const when = (output: string, step: StepDocument, minLength = 1): StepDocument => ({
  ...step,
  when: { of: `read.${output}`, is: { minLength } },
});

/** Steps that each fit into one execution, and do not fit together. */
const CASES: Record<string, StepDocument> = {
  'whose arguments are too much together': inParallel(
    [uses('A', 'Two', 'Seven')],
    [uses('B', 'Three', 'Five')],
    [uses('C', 'Five', 'Seven')],
  ),
  'whose conditions do not hold': inParallel(
    [when('Seven', uses('A', 'Two'), 99_999_999)],
    [when('Five', uses('B', 'Seven'), 99_999_999)],
    [when('Three', uses('C', 'Seven', 'Two'), 99_999_999)],
    [when('Two', uses('D', 'Seven', 'Five'), 99_999_999)],
  ),
  'that first need one output for their condition, and then others': inParallel(
    [when('Seven', uses('A', 'Five', 'Three'))],
    [when('Five', uses('B', 'Seven', 'Three'))],
  ),
  'in lists that are loaded while their items run': inParallel(
    [forEach('F', 'Twins', [uses('A', 'Seven')])],
    [forEach('G', 'Couple', [uses('B', 'Five', 'Three')])],
  ),
  'in lists inside of lists': inParallel(
    [forEach('F', 'Twins', [forEach('FF', 'Couple', [uses('A', 'Two')])])],
    [forEach('G', 'Couple', [forEach('GG', 'Twins', [uses('B', 'Two')])])],
    [forEach('H', 'Pair', [forEach('HH', 'Couple', [uses('C', 'Seven')])])],
  ),
  'while a person answers': inParallel(
    [{ name: 'A', human: { question: '{{read.Seven}}{{read.Five}}' } }],
    [{ name: 'B', human: { question: '{{read.Two}}{{read.Three}}' } }, uses('C', 'Seven', 'Five')],
  ),
};

describe('steps in parallel that need more stored outputs together than one execution loads', () => {
  it.each(Object.entries(CASES))('all run: steps %s', async (_, step) => {
    expect(checkProgram(programOf([step])).problems).toEqual([]);
    const once = await run([step], onceStored());
    expect(once.result).toMatchObject({ status: 'completed', error: null });
    expect(once.moved.some((move) => move.startsWith('-'))).toBe(true);
    const split = await run([step], { continueDue: often });
    expect(split.result).toMatchObject({ status: 'completed', error: null });
  });

  it('make no call twice, and run side by side as far as they fit', async () => {
    const steps = ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => [when('Two', uses(name, 'Five'))]);
    const { toolCalls, executions } = await run([inParallel(...steps)], onceStored());
    expect(toolCalls.toSorted()).toEqual(['work.A', 'work.B', 'work.C', 'work.D', 'work.E', 'work.F']);
    // All of them need the same two outputs.
    expect(executions).toBe(2);
  });

  it('fail only if one of them does not fit, and say how much it needs', async () => {
    const { result } = await run([inParallel([uses('A', 'Two')], [uses('B', 'Seven', 'Couple', 'Twins', 'Five')])], onceStored());
    expect(result).toMatchObject({ status: 'error', errorCode: 'payload_too_large' });
    expect(result.error).toMatch(
      /Step "work.B" lacks an output that it refers to: it needs 20\d{6} bytes of stored outputs, and one execution loads at most 16000000: make them smaller/,
    );
    expect(result.units?.[1]?.steps.find(({ name }) => name === 'A')?.status).toBe('completed');
  });

  it('count the list of the forEach around a step as part of its need', async () => {
    const { result } = await run([forEach('F', 'Twins', [uses('A', 'Seven', 'Couple', 'Five')])], onceStored());
    expect(result.error).toMatch(/Step "work.A\[0\]" .* it needs 20\d{6} bytes of stored outputs with the lists of the blocks around it/);
  });
});

const subsets = Object.keys(OUTPUTS).flatMap((one, index, all) => [[one], ...all.slice(index + 1).map((other) => [one, other])]);
const bytesOf = (names: readonly string[]): number => names.reduce((sum, name) => sum + (OUTPUTS[name] ?? 0), 0);

/** Any steps that fit into an execution with `room` megabytes. */
function anyList(prefix: string, room: number, depth: number): fc.Arbitrary<StepDocument[]> {
  return fc
    .array(fc.nat(), { minLength: 1, maxLength: depth === 0 ? 1 : 2 })
    .chain((list) => fc.tuple(...list.map((_, index) => anyStep(`${prefix}${index}`, room, depth))));
}

function anyStep(name: string, room: number, depth: number): fc.Arbitrary<StepDocument> {
  const fitting = subsets.filter((names) => bytesOf(names) <= room);
  const some = fc.constantFrom(...fitting);
  const leaf = fc.oneof(
    some.map((names): StepDocument => uses(name, ...names)),
    some.map((names): StepDocument => ({ name, agent: { name: 'a', input: names.map((one) => `{{read.${one}}}`).join(' ') } })),
    some.map((names): StepDocument => ({ name, human: { question: names.map((one) => `{{read.${one}}}`).join(' ') } })),
    fc.constant<StepDocument>(ask(name)),
  );
  const single = Object.keys(OUTPUTS).filter((one) => bytesOf([one]) <= room);
  const conditional = (step: fc.Arbitrary<StepDocument>): fc.Arbitrary<StepDocument> =>
    fc
      .tuple(step, fc.option(fc.tuple(fc.constantFrom(...single), fc.boolean()), { nil: undefined, freq: 2 }))
      .map(([one, condition]) => (condition === undefined ? one : when(condition[0], one, condition[1] ? 1 : 99_999_999)));
  if (depth === 0) return conditional(leaf);
  const lists = Object.keys(LISTS).filter((list) => (LISTS[list] ?? 0) + 2 <= room);
  const blocks: fc.Arbitrary<StepDocument>[] = [
    fc
      .array(fc.nat(), { minLength: 2, maxLength: 4 })
      .chain((all) => fc.tuple(...all.map((_, index) => anyList(`${name}P${index}`, room, depth - 1))))
      .map((branches): StepDocument => ({ name, parallel: { branches } })),
    fc
      .tuple(fc.constantFrom(...single), anyList(`${name}R`, room, depth - 1))
      .map(([of, steps]): StepDocument => ({ name, repeat: { atMost: 2, until: { of: `read.${of}`, is: { const: 'never' } }, steps } })),
    fc
      .tuple(fc.constantFrom(...single), anyList(`${name}B`, room, depth - 1))
      .map(([of, steps]): StepDocument => ({ name, branch: { cases: [{ when: { of: `read.${of}`, is: {} }, steps }] } })),
    ...lists.map((list) =>
      fc
        .tuple(fc.integer({ min: 1, max: 2 }), anyList(`${name}F`, room - (LISTS[list] ?? 0), depth - 1))
        .map(([atOnce, steps]) => forEach(name, list, steps, atOnce)),
    ),
  ];
  return conditional(fc.oneof({ weight: 1, arbitrary: leaf }, { weight: 2, arbitrary: fc.oneof(...blocks) }));
}

describe('any program with steps that each fit', () => {
  it('always ends, fails nowhere, and makes no call twice', async () => {
    const steps = fc
      .array(fc.nat(), { minLength: 2, maxLength: 4 })
      .chain((all) => fc.tuple(...all.map((_, index) => anyList(`S${index}`, MOST_MB, 2))))
      .map((branches): StepDocument => ({ name: 'Side', parallel: { branches } }));
    let waited = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.array(fc.boolean(), { maxLength: 6 }), async (step, points) => {
        const stored = onceStored();
        let asked = 0;
        const continueDue = (): boolean =>
          stored.continueDue?.() === true || (points.length > 0 && (points[asked++ % points.length] ?? false));
        const { result, toolCalls, calls, executions } = await run([step], { ...stored, continueDue });
        if (executions > 2) waited += 1;
        expect(result.error).toBeNull();
        expect(result.status).toBe('completed');
        expect(new Set(toolCalls).size).toBe(toolCalls.length);
        expect(new Set(calls).size).toBe(calls.length);
      }),
      { numRuns: propertyRuns(40) },
    );
    expect(waited).toBeGreaterThan(0);
  }, 300_000);
});
