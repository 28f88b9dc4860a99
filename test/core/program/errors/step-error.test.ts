import fc from 'fast-check';
import {
  debugText,
  emptyAnswerFailure,
  errorLevel,
  exhaustionFailure,
  formatError,
  modelCallFailure,
  newStepError,
  seedNameOf,
} from '../../../../src/core/program/step-errors.ts';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '../../../../src/core/domain/errors.ts';
import type { JsonValue } from '../../../../src/core/domain/json.ts';

const PLACE = { step: 'Read', unit: 'Review' };

describe('a failure of a step', () => {
  it('keeps no empty fields', () => {
    expect(newStepError('step_failed', 'm').context).toEqual({});
    expect(
      newStepError('step_failed', 'm', { step: '', unit: '', attempt: 0, expectedType: '', actualValue: null, anchorName: '', details: '' })
        .context,
    ).toEqual({});
  });

  it('keeps everything that it is given, the value as debug text', () => {
    const context = { ...PLACE, attempt: 2, expectedType: 'FactualClaim', anchorName: 'NoBias', details: 'd' };
    expect(newStepError('validation_failed', 'm', { ...context, actualValue: 'an answer' }).context).toEqual({
      ...context,
      actualValue: "'an answer'",
    });
    expect(newStepError('validation_failed', 'm', { actualValue: 0 }).context).toEqual({ actualValue: '0' });
  });

  it('limits its texts', () => {
    const { message, context } = newStepError('step_failed', 'm'.repeat(1e6), { details: 'd'.repeat(1e6), actualValue: 'v'.repeat(1e6) });
    expect(message.length).toBeLessThan(8_100);
    expect(context.details?.length).toBeLessThan(8_100);
    expect(context.actualValue).toHaveLength(1_000);
  });
});

describe('the text of a failure', () => {
  it('has one line for each circumstance that is known', () => {
    expect(formatError(newStepError('anchor_breach', 'm'))).toBe('[L3] AnchorBreachError: m');
    expect(formatError(newStepError('step_timeout', 'm', { ...PLACE, attempt: 3, details: 'd', anchorName: 'X', expectedType: 'Y' }))).toBe(
      '[L6] ExecutionTimeoutError: m\n  step: Read\n  flow: Review\n  attempt: 3\n  details: d',
    );
  });

  it('contains the text of the failure beneath it', () => {
    const beneath = modelCallFailure('boom', PLACE);
    expect(formatError(exhaustionFailure(2, formatError(beneath), PLACE))).toBe(formatError(exhaustionFailure(2, beneath, PLACE)));
    expect(formatError(exhaustionFailure(2, beneath, PLACE))).toBe(
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

  it('is the message alone for an error that has a name and no level', () => {
    expect(formatError(emptyAnswerFailure({ step: 'Read', unit: 'Review' }))).toBe('Message content must not be empty');
    expect(seedNameOf('empty_answer')).toBe('ValueError');
  });

  it('has a level and a name for every code of the table', () => {
    const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code !== 'empty_answer');
    for (const code of codes) {
      expect(errorLevel(code)).toBeGreaterThan(0);
      expect(formatError(newStepError(code, 'm'))).toBe(`[L${errorLevel(code)}] ${seedNameOf(code)}: m`);
    }
    expect(formatError(newStepError('model_rate_limited', 'm'))).toBe('[L5] AxonRuntimeError: m');
  });
});

describe('a debug text', () => {
  it.each<[JsonValue, string]>([
    ['a', "'a'"],
    ["it's", '"it\'s"'],
    [`"it's"`, String.raw`'"it\'s"'`],
    ['a\nb', String.raw`'a\nb'`],
    [1.5, '1.5'],
    [null, 'null'],
    [true, 'true'],
    [['a', 1], "['a', 1]"],
    [{ a: { b: [] } }, "{'a': {'b': []}}"],
  ])('of %j is %s', (value, text) => {
    expect(debugText(value)).toBe(text);
  });

  it('has a limit for every value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => debugText(value as JsonValue).length <= 1_000));
    let deep: JsonValue = 1;
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(debugText(deep)).toHaveLength(1_000);
    expect(debugText(Array.from({ length: 100_000 }, (_, index) => `item ${index}`))).toHaveLength(1_000);
  });
});
