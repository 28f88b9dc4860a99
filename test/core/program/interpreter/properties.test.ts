import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProgramDocument, StepDocument, UnitDocument } from '../../../../src/core/domain/program-document.ts';
import type { UnitResult } from '../../../../src/core/domain/program-run.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import { runFakeProgram } from './fake-program.ts';

/** A generated program: a graph of units, whose steps fail as often as the digits of `failures` say. */
interface Generated {
  document: ProgramDocument;
  failures: number[];
}

const step = (name: string): fc.Arbitrary<StepDocument> => {
  const refine = fc.option(
    fc.record({
      maxAttempts: fc.integer({ min: 1, max: 3 }),
      backoff: fc.constantFrom('none' as const, 'linear' as const),
      onExhaustion: fc.constantFrom('fail' as const, 'skip' as const),
    }),
    { nil: undefined },
  );
  const ask = refine.map((one): StepDocument => ({ name, ask: { prompt: `do ${name}` }, ...(one === undefined ? {} : { refine: one }) }));
  const inner = (suffix: string): StepDocument => ({ name: `${name}${suffix}`, ask: { prompt: `do ${name}${suffix}` } });
  return fc.oneof(
    { weight: 4, arbitrary: ask },
    { weight: 1, arbitrary: fc.constant<StepDocument>({ name, parallel: { branches: [[inner('L')], [inner('R')]] } }) },
    {
      weight: 1,
      arbitrary: fc
        .integer({ min: 1, max: 3 })
        .map((atOnce): StepDocument => ({ name, forEach: { in: 'input.items', atOnce, steps: [inner('E')] } })),
    },
    {
      weight: 1,
      arbitrary: fc.constant<StepDocument>({
        name,
        repeat: { atMost: 2, until: { of: `${name}T`, is: { const: 'x' } }, steps: [inner('T')] },
      }),
    },
  );
};

const generated: fc.Arbitrary<Generated> = fc.integer({ min: 1, max: 5 }).chain((count) => {
  const units = Array.from({ length: count }, (_, index) =>
    fc.record({
      steps: fc
        .integer({ min: 1, max: 3 })
        .chain((steps) => fc.tuple(...Array.from({ length: steps }, (__, at) => step(`U${index}S${at}`)))),
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

function answerOf(program: Generated) {
  return ({ address, attempt }: { address: string; attempt: number }) =>
    attempt <= fails(program, address) ? undefined : `answer of ${address}`;
}

/** The part of a result that does not depend on the division into executions. */
function comparable(units: readonly UnitResult[] | undefined): unknown {
  return units?.map(({ name, status, reason, error, steps }) => ({
    name,
    status,
    reason,
    error: error?.code,
    // The steps inside a block that failed stop where the failure finds them.
    steps: status === 'failed' ? [] : steps.map((one) => [one.name, one.status, one.attempts, one.output]),
  }));
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
        const { calls, result } = await runFakeProgram({ document: program.document, input, answer: answerOf(program) });
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
        const whole = await runFakeProgram({ document: program.document, input, answer: answerOf(program) });
        let index = 0;
        const split = await runFakeProgram({
          document: program.document,
          input,
          answer: answerOf(program),
          continueDue: () => points[index++ % points.length] ?? false,
        });
        executions += split.executions - 1;
        expect(split.result.status).toBe(whole.result.status);
        expect(comparable(split.result.units)).toEqual(comparable(whole.result.units));
        const begun = split.calls.filter((call) => call.startsWith('+'));
        expect(new Set(begun).size).toBe(begun.length);
        const expected = whole.calls.filter((call) => call.startsWith('+')).toSorted();
        // After a failure, steps that run in parallel to the failed one may or may not have begun.
        expect(whole.result.status === 'completed' ? begun.toSorted() : expected).toEqual(expected);
      }),
      { numRuns: 200 },
    );
    expect(executions).toBeGreaterThan(50);
  });
});
