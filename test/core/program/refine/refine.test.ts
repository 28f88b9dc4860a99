import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatError, modelCallFailure } from '../../../../src/core/program/step-errors.ts';
import type { RefineDocument } from '../../../../src/core/domain/program-document.ts';
import {
  type AttemptOutcome,
  BACKOFFS,
  delayAfter,
  failedAttempt,
  failureAfterAttempts,
  makeAttempts,
  refineProblems,
  type RefineResult,
  type RefineStart,
  resolveRefine,
  type WaitOutcome,
} from '../../../../src/core/program/refine.ts';

const PLACE = { step: 'Read', unit: 'Review' };
const STOPPED = { type: 'stopped' } as const;

function failed(error: string): AttemptOutcome<never> {
  return { type: 'failed', error, errorType: 'Error' };
}

/** Runs a refine block whose attempts have these outcomes; the last one repeats. */
async function run(
  document: RefineDocument | undefined,
  outcomes: AttemptOutcome<string>[],
  { from, onWait = (): WaitOutcome => ({ type: 'waited' }) }: { from?: RefineStart; onWait?: (attempt: number) => WaitOutcome } = {},
): Promise<{ result: RefineResult<string>; contexts: (string | undefined)[]; numbers: number[]; waits: [number, number][] }> {
  const contexts: (string | undefined)[] = [];
  const numbers: number[] = [];
  const waits: [number, number][] = [];
  const result = await makeAttempts<string>({
    config: resolveRefine(document),
    attempt: (context, number) => {
      contexts.push(context);
      numbers.push(number);
      return Promise.resolve(outcomes[Math.min(contexts.length, outcomes.length) - 1] ?? failed(''));
    },
    wait: (ms, attempt) => {
      waits.push([attempt, ms]);
      return Promise.resolve(onWait(attempt));
    },
    ...(from === undefined ? {} : { from }),
  });
  return { result, contexts, numbers, waits };
}

describe('a refine block', () => {
  it('ends with the first attempt that succeeds', async () => {
    const { result, contexts, waits } = await run({}, [failed('a'), { type: 'succeeded', result: 'r' }]);
    expect(result).toEqual({
      success: true,
      result: 'r',
      attempts: [
        { attempt: 1, success: false, error: 'a', errorType: 'Error' },
        { attempt: 2, success: true },
      ],
      exhausted: false,
    });
    expect(contexts).toEqual([undefined, 'a']);
    expect(waits).toEqual([]);
  });

  it('is exhausted when all attempts failed', async () => {
    const { result, numbers } = await run({ maxAttempts: 3 }, [failed('a'), failed('b'), failed('c')]);
    expect(result).toMatchObject({ success: false, result: null, exhausted: true });
    expect(numbers).toEqual([1, 2, 3]);
  });

  it('that is absent is one attempt', async () => {
    const { result, numbers } = await run(undefined, [failed('a')]);
    expect(result.exhausted).toBe(true);
    expect(numbers).toEqual([1]);
  });

  it('withholds the failure from the next attempt if it is set to, or if the failure has no text', async () => {
    expect((await run({ passFailureContext: false }, [failed('a')])).contexts).toEqual([undefined, undefined, undefined]);
    expect((await run({}, [failed('')])).contexts).toEqual([undefined, undefined, undefined]);
  });

  it('waits between the attempts, and not after the last one', async () => {
    expect((await run({ backoff: 'linear' }, [failed('a')])).waits).toEqual([
      [1, 1_000],
      [2, 2_000],
    ]);
  });

  it('stops if an attempt or a wait says that the run is being stopped', async () => {
    const attempts = [{ attempt: 1, success: false, error: 'a', errorType: 'Error' }];
    expect((await run({}, [failed('a'), STOPPED])).result).toEqual({
      success: false,
      result: null,
      attempts,
      exhausted: false,
      stopped: true,
    });
    const waited = await run({ backoff: 'linear' }, [failed('a')], { onWait: () => STOPPED });
    expect(waited.result).toEqual({ success: false, result: null, attempts, exhausted: false, stopped: true });
    expect(waited.numbers).toEqual([1]);
  });

  it('continues where it was stopped, also in a wait, with the same outcome as a block that was not stopped', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
        fc.nat(5),
        fc.constantFrom(...BACKOFFS),
        async (successes, stop, backoff) => {
          const outcomes = successes.map((success, index) =>
            success ? ({ type: 'succeeded', result: `r${index}` } as const) : failed(`f${index}`),
          );
          const document = { maxAttempts: outcomes.length, backoff };
          const whole = await run(document, outcomes);
          const first = await run(document, [...outcomes.slice(0, stop), STOPPED]);
          if (first.result.stopped === undefined) return;
          const { attempts } = first.result;
          const from = { attempt: attempts.length + 1, failureContext: `f${attempts.length - 1}`, attempts };
          const second = await run(document, outcomes.slice(stop), { from });
          expect(second.result).toEqual(whole.result);
          expect([...first.contexts.slice(0, -1), ...second.contexts]).toEqual(whole.contexts);
        },
      ),
    );
  });

  it('waits for the rest of a wait before it continues', async () => {
    const { waits, contexts, numbers } = await run({ backoff: 'linear' }, [failed('b')], {
      from: { attempt: 2, failureContext: 'a', waitMs: 300 },
    });
    expect(waits).toEqual([
      [1, 300],
      [2, 2_000],
    ]);
    expect(numbers).toEqual([2, 3]);
    expect(contexts).toEqual(['a', 'b']);
  });
});

describe('the failure of a step', () => {
  it('contains the failure of its last attempt', async () => {
    const document = { maxAttempts: 2 };
    const { result } = await run(document, [failedAttempt(modelCallFailure('boom', PLACE))]);
    expect(result.attempts[1]).toMatchObject({ errorType: 'ModelCallError', error: expect.stringContaining('[L5] ModelCallError: ') });
    const failure = failureAfterAttempts(result, resolveRefine(document), PLACE);
    expect(failure && formatError(failure)).toBe(
      [
        "[L4] RefineExhaustedError: All 2 refine attempts exhausted for step 'Read'.",
        '  step: Read',
        '  flow: Review',
        '  attempt: 2',
        "  details: [L5] ModelCallError: Model call failed for step 'Read': boom",
        '  step: Read',
        '  flow: Review',
        '  details: boom',
      ].join('\n'),
    );
  });

  it('is undefined if an attempt succeeded, the run was stopped, or the block says what follows', async () => {
    for (const outcome of [{ type: 'succeeded', result: 'r' }, STOPPED] as const) {
      expect(failureAfterAttempts((await run({}, [outcome])).result, resolveRefine({}), PLACE)).toBeUndefined();
    }
    for (const document of [{ onExhaustion: 'skip' }, { onExhaustion: 'fallback', fallback: 'Other' }] as const) {
      expect(failureAfterAttempts((await run(document, [failed('a')])).result, resolveRefine(document), PLACE)).toBeUndefined();
    }
    const document = { onExhaustion: 'fallback' } as const;
    expect(failureAfterAttempts((await run(document, [failed('a')])).result, resolveRefine(document), PLACE)?.code).toBe(
      'refine_exhausted',
    );
  });
});

describe('the configuration', () => {
  it('has defaults', () => {
    expect(resolveRefine({})).toEqual({ maxAttempts: 3, backoff: 'none', passFailureContext: true, onExhaustion: 'fail' });
    expect(resolveRefine(undefined).maxAttempts).toBe(1);
  });

  it('keeps the choice of a program', () => {
    const config = { maxAttempts: 5, backoff: 'linear', passFailureContext: false, onExhaustion: 'fallback', fallback: 'Other' } as const;
    expect(resolveRefine(config)).toEqual(config);
  });

  it.each<[RefineDocument, string]>([
    [{ maxAttempts: NaN }, 'maxAttempts must be a whole number, got NaN'],
    [{ maxAttempts: 0 }, 'maxAttempts must be >= 1, got 0'],
    [{ maxAttempts: -2 }, 'maxAttempts must be >= 1, got -2'],
    [{ maxAttempts: 1.5 }, 'maxAttempts must be a whole number, got 1.5'],
    [{ backoff: 'fast' as never }, "Invalid backoff strategy 'fast'. Must be one of: ['exponential', 'linear', 'none']"],
    [{ onExhaustion: 'stop' as never }, "Invalid onExhaustion 'stop'. Must be one of: ['fail', 'fallback', 'skip']"],
  ])('refuses %j', (document, message) => {
    expect(() => resolveRefine(document)).toThrow(message);
    expect(refineProblems(document)).toEqual([message]);
  });

  it('has a problem with a fallback that is missing or not used', () => {
    expect(refineProblems({ onExhaustion: 'fallback', fallback: 'Other' })).toEqual([]);
    expect(refineProblems({ onExhaustion: 'fallback' })).toEqual([`onExhaustion is 'fallback', but "fallback" names no step: name one`]);
    expect(refineProblems({ fallback: 'Other' })).toEqual([
      `fallback names the step 'Other', but is not used: write onExhaustion: 'fallback', or leave it out`,
    ]);
  });
});

describe('the wait after an attempt', () => {
  it('grows with the attempt, up to 30 seconds', () => {
    const seconds = (backoff: (typeof BACKOFFS)[number]): number[] =>
      [1, 2, 3, 4, 5, 6, 31, 5_000].map((attempt) => delayAfter(attempt, backoff) / 1_000);
    expect(seconds('none')).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(seconds('linear')).toEqual([1, 2, 3, 4, 5, 6, 30, 30]);
    expect(seconds('exponential')).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });
});
