import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProgramDocument, StepDocument, UnitDocument } from '../../../../src/core/domain/program-document.ts';
import type { UnitResult } from '../../../../src/core/domain/program-run.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import { type FakeProgram, type FakeProgramRun, runFakeProgram } from './fake-program.ts';
import { testTool } from '../../loop/fakes/snapshot.ts';

/** A generated program: a graph of units, whose steps fail as often as the digits of `failures` say. */
interface Generated {
  document: ProgramDocument;
  failures: number[];
}

const refine = fc.record({ maxAttempts: fc.integer({ min: 1, max: 3 }), backoff: fc.constantFrom('none' as const, 'linear' as const) });

/** A step of one of the kinds that act. */
const acting = (name: string): fc.Arbitrary<StepDocument> =>
  fc.constantFrom<StepDocument>(
    { name, ask: { prompt: `do ${name}` } },
    { name, tool: { name: 'act' } },
    { name, agent: { name: 'a', input: name } },
    { name, human: { question: `${name}?` } },
    { name, sleep: { for: '1m' } },
  );

/** A step with a fallback, with or without a step between the two. */
const withFallback = (name: string): fc.Arbitrary<StepDocument[]> =>
  fc.tuple(acting(name), acting(`${name}F`), refine, fc.boolean(), fc.boolean()).map(([one, other, refined, isBefore, hasBetween]) => {
    const falling: StepDocument = { ...one, refine: { ...refined, onExhaustion: 'fallback', fallback: `${name}F` } };
    const between: StepDocument[] = hasBetween ? [{ name: `${name}B`, ask: { prompt: `do ${name}B` } }] : [];
    return isBefore ? [other, ...between, falling] : [falling, ...between, other];
  });

const anySteps = (name: string): fc.Arbitrary<StepDocument[]> => {
  const ask = fc
    .option(fc.tuple(refine, fc.constantFrom('fail' as const, 'skip' as const)), { nil: undefined })
    .map((one): StepDocument[] => [
      { name, ask: { prompt: `do ${name}` }, ...(one === undefined ? {} : { refine: { ...one[0], onExhaustion: one[1] } }) },
    ]);
  const inner = (suffix: string): StepDocument => ({ name: `${name}${suffix}`, ask: { prompt: `do ${name}${suffix}` } });
  const list = (suffix: string): fc.Arbitrary<StepDocument[]> =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant<StepDocument[]>([inner(suffix)]) },
      { weight: 1, arbitrary: withFallback(`${name}${suffix}`) },
    );
  return fc.oneof(
    { weight: 4, arbitrary: ask },
    { weight: 2, arbitrary: withFallback(name) },
    { weight: 1, arbitrary: fc.tuple(list('L'), list('R')).map((branches): StepDocument[] => [{ name, parallel: { branches } }]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 3 }), list('E'))
        .map(([atOnce, items]): StepDocument[] => [{ name, forEach: { in: 'input.items', atOnce, steps: items } }]),
    },
    {
      weight: 1,
      arbitrary: list('T').map((rounds): StepDocument[] => [
        { name, repeat: { atMost: 2, until: { of: rounds[0]?.name ?? '', is: { const: 'x' } }, steps: rounds } },
      ]),
    },
  );
};

const generated: fc.Arbitrary<Generated> = fc.integer({ min: 1, max: 5 }).chain((count) => {
  const units = Array.from({ length: count }, (_, index) =>
    fc.record({
      steps: fc
        .integer({ min: 1, max: 3 })
        .chain((number) => fc.tuple(...Array.from({ length: number }, (__, at) => anySteps(`U${index}S${at}`))))
        .map((lists) => lists.flat()),
      needs: fc.subarray(Array.from({ length: index }, (__, before) => `u${before}`)),
    }),
  );
  return fc
    .record({ units: fc.tuple(...units), failures: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 12 }) })
    .map(({ units: made, failures }) => ({
      failures,
      document: {
        version: 1,
        name: 'p',
        model: 'p/m',
        units: made.map((unit, index): UnitDocument => ({ name: `u${index}`, ...unit })),
        output: null,
      },
    }));
});

/** Decides from the name of a step alone how many of its attempts fail. */
function fails({ failures }: Generated, address: string): number {
  const sum = Array.from(address, (character) => character.charCodeAt(0)).reduce((total, code) => total + code, 0);
  return Math.max(0, (failures[sum % failures.length] ?? 0) - 1);
}

/** What a program runs with: its model, its tool, its agents and the person who answers. */
function surroundings(program: Generated): FakeProgram {
  return {
    document: program.document,
    input,
    answer: ({ address, attempt }) => (attempt <= fails(program, address) ? undefined : `answer of ${address}`),
    tools: [testTool('act')],
    toolFails: (callId) => fails(program, callId) > 0,
    childUse: (runId) => ({ steps: 1, toolCalls: 0, tokens: 0, end: fails(program, runId) > 0 ? 'error' : 'completed' }),
    childTurns: (runId) => runId.length % 4,
    answersAfter: 3,
  };
}

/** The beginnings and ends of steps and attempts in the record. */
function recorded({ events }: FakeProgramRun): string[] {
  return events.flatMap(({ step }) => (step === undefined ? [] : `${step.at} ${step.type} ${step.attempt ?? 0}`));
}

/** The part of a result that does not depend on the division into executions. */
function comparable(units: readonly UnitResult[] | undefined): unknown {
  return units?.map(({ name, status, reason, error, steps }) => {
    // After a failure, items that run in parallel to the failed one may or may not have begun, and fail too.
    const isOpen = status === 'failed' && steps.some(({ kind }) => kind === 'forEach');
    if (isOpen) return { name, status, reason };
    // Steps are listed in the order in which they began.
    const ended = steps
      .map((one) => [one.name, one.status, one.attempts, one.output] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
    return { name, status, reason, error: error?.code, steps: ended };
  });
}

const input = { items: ['a', 'b', 'c'] };

describe('any program', () => {
  it('is accepted by the check', () => {
    fc.assert(
      fc.property(generated, ({ document }) => {
        expect(checkProgram(document).problems).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it('runs no step before the units that its own needs have ended', async () => {
    await fc.assert(
      fc.asyncProperty(generated, async (program) => {
        const { calls, result } = await runFakeProgram(surroundings(program));
        for (const { name, needs = [] } of program.document.units) {
          const first = calls.findIndex((call) => call.startsWith(`+${name}.`));
          if (first < 0) continue;
          for (const needed of needs) {
            expect(calls.findLastIndex((call) => call.startsWith(`-${needed}.`))).toBeLessThan(first);
            expect(result.units?.find((unit) => unit.name === needed)?.status).toBe('completed');
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('has the same results if it continues as new at any points, and no attempt is made twice', async () => {
    let executions = 0;
    await fc.assert(
      fc.asyncProperty(generated, fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }), async (program, points) => {
        const whole = await runFakeProgram(surroundings(program));
        let index = 0;
        const split = await runFakeProgram({ ...surroundings(program), continueDue: () => points[index++ % points.length] ?? false });
        executions += split.executions - 1;
        expect(split.result.status).toBe(whole.result.status);
        expect(comparable(split.result.units)).toEqual(comparable(whole.result.units));
        const begun = recorded(split);
        expect(new Set(begun).size).toBe(begun.length);
        const calls = split.calls.filter((call) => call.startsWith('+'));
        expect(new Set(calls).size).toBe(calls.length);
        const expected = recorded(whole).toSorted();
        // After a failure, items that run in parallel to the failed one may or may not have begun.
        expect(whole.result.status === 'completed' ? begun.toSorted() : expected).toEqual(expected);
      }),
      { numRuns: 200 },
    );
    expect(executions).toBeGreaterThan(50);
  });
});
