import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../src/core/domain/json.ts';
import { formatError } from '../../../../src/core/program/step-errors.ts';
import {
  type AnswerRules,
  EPISTEMIC_TYPES,
  requireValid,
  SEMANTIC_TYPES,
  validateAnswer,
  validationFailure,
} from '../../../../src/core/program/ask.ts';

function messages(answer: JsonValue, asked: AnswerRules): string[] {
  return validateAnswer(answer, asked).violations.map(({ message }) => message);
}

function rules(answer: JsonValue, asked: AnswerRules): string[] {
  return validateAnswer(answer, asked).violations.map(({ rule }) => rule);
}

describe('the declared type of an answer', () => {
  it('may be absent or the expected one', () => {
    for (const type of [...SEMANTIC_TYPES, 'Invoice']) {
      for (const answer of ['text', 1, null, [], {}, { type }, { _type: type }, { type: '' }, { type: null }, { _type: [] }]) {
        expect(rules(answer as JsonValue, { type })).toEqual([]);
      }
    }
  });

  it('of a statement excludes every other', () => {
    for (const type of EPISTEMIC_TYPES) {
      for (const other of EPISTEMIC_TYPES.filter((one) => one !== type)) {
        expect(rules({ type: other }, { type })).toEqual(['epistemic_exclusion']);
      }
      expect(rules({ type: 'Summary' }, { type })).toEqual(['type_mismatch']);
    }
  });

  it('is named in the message', () => {
    expect(validateAnswer({ type: 'Opinion' }, { type: 'FactualClaim' }).violations).toEqual([
      {
        rule: 'epistemic_exclusion',
        message: "Epistemic type mismatch: expected 'FactualClaim' but output declares 'Opinion'. These types are mutually exclusive.",
        expected: 'FactualClaim',
        actual: 'Opinion',
        severity: 'error',
      },
    ]);
    expect(messages({ _type: 'Chunk' }, { type: 'Summary' })).toEqual(["Type mismatch: expected 'Summary' but output declares 'Chunk'."]);
    expect(messages({ type: 7 }, { type: 'Summary' })).toEqual(["Type mismatch: expected 'Summary' but output declares '7'."]);
  });

  it('is read from `type` before `_type`, and not checked if none is expected', () => {
    expect(rules({ type: 'Summary', _type: 'Chunk' }, { type: 'Summary' })).toEqual([]);
    expect(rules({ type: '', _type: 'Chunk' }, { type: 'Summary' })).toEqual([]);
    expect(rules({ type: 'Summary' }, {})).toEqual([]);
    expect(rules({ type: 'Summary' }, { type: '' })).toEqual([]);
  });
});

describe('the confidence of an answer', () => {
  it('is enough at the floor', () => {
    expect(validateAnswer({ confidence: 0.85 }, { confidenceFloor: 0.85 })).toEqual({ isValid: true, violations: [], confidence: 0.85 });
  });

  it('is too low below the floor', () => {
    expect(validateAnswer({ _confidence: 0.3 }, { confidenceFloor: 0.8 })).toMatchObject({
      isValid: false,
      violations: [
        { rule: 'confidence_floor', message: 'Confidence 0.30 is below the floor of 0.80.', expected: '>= 0.8', actual: '0.30' },
      ],
      confidence: 0.3,
    });
  });

  it('is read as a number or the text of one', () => {
    expect(rules({ confidence: ' 0.5 ' }, { confidenceFloor: 0.8 })).toEqual(['confidence_floor']);
    for (const confidence of ['high', '', '0x0', 'NaN', '--1', true, null, [0], {}]) {
      expect(validateAnswer({ confidence }, { confidenceFloor: 0.8 })).toEqual({ isValid: true, violations: [], confidence: null });
    }
  });

  it('is not checked if the answer or the step says nothing about it', () => {
    expect(rules('0.1', { confidenceFloor: 0.8 })).toEqual([]);
    expect(rules(0.1, { confidenceFloor: 0.8 })).toEqual([]);
    expect(validateAnswer({ confidence: 0.1 }, {}).confidence).toBeNull();
  });
});

describe('the required fields of an answer', () => {
  it('may hold any value', () => {
    expect(rules({ a: null, b: 0 }, { requiredFields: ['a', 'b'] })).toEqual([]);
  });

  it('are listed if they are missing', () => {
    expect(messages({ name: 'A' }, { requiredFields: ['name', 'role'] })).toEqual([
      "Missing required fields: ['role']. Present fields: ['name'].",
    ]);
  });

  it('need an object', () => {
    for (const [answer, kind] of [
      ['x', 'string'],
      [1, 'number'],
      [null, 'null'],
      [[], 'array'],
    ] as const) {
      expect(messages(answer as JsonValue, { requiredFields: ['score'] })).toEqual([
        `Expected structured output (object) with fields ['score'], but got ${kind}.`,
      ]);
    }
  });

  it("come from a type of one's own unless the step lists them", () => {
    const customTypes = { Invoice: ['total'] };
    expect(rules({}, { type: 'Invoice', customTypes })).toEqual(['missing_fields']);
    expect(rules({}, { type: 'Invoice', customTypes, requiredFields: [] })).toEqual(['missing_fields']);
    expect(rules({ a: 1 }, { type: 'Invoice', customTypes, requiredFields: ['a'] })).toEqual([]);
    expect(rules({}, { type: 'Receipt', customTypes })).toEqual([]);
    expect(rules({}, { type: 'constructor', customTypes })).toEqual([]);
  });

  it('are fields of the answer itself', () => {
    expect(rules({}, { requiredFields: ['toString'] })).toEqual(['missing_fields']);
  });
});

describe('the number in an answer', () => {
  it('lies within the bounds of its type, both inclusive', () => {
    for (const [type, min, max] of [
      ['RiskScore', 0, 1],
      ['ConfidenceScore', 0, 1],
      ['SentimentScore', -1, 1],
    ] as const) {
      expect(rules(min, { type })).toEqual([]);
      expect(rules({ score: max }, { type })).toEqual([]);
      expect(rules({ value: min - 0.1 }, { type })).toEqual(['range_below_min']);
      expect(rules(max + 0.1, { type })).toEqual(['range_above_max']);
    }
  });

  it('is within the explicit bounds, each of which replaces the bound of the type', () => {
    expect(rules(5, { type: 'RiskScore', range: { max: 10 } })).toEqual([]);
    expect(rules(-1, { type: 'RiskScore', range: { max: 10 } })).toEqual(['range_below_min']);
    expect(rules(11, { range: { min: 0, max: 10 } })).toEqual(['range_above_max']);
    expect(messages({ value: -2 }, { type: 'SentimentScore' })).toEqual(['Value -2 is below minimum -1.']);
    expect(messages(1.5, { range: { max: 1 } })).toEqual(['Value 1.5 exceeds maximum 1.']);
  });

  it('is `value` before `score`, and absent in other answers', () => {
    expect(rules({ value: 0.5, score: 9 }, { type: 'RiskScore' })).toEqual([]);
    expect(rules({ value: null, score: 9 }, { type: 'RiskScore' })).toEqual([]);
    expect(rules({ value: '7' }, { type: 'RiskScore' })).toEqual(['range_above_max']);
    for (const answer of ['1.5', null, true, {}, [9], { value: 'high' }])
      expect(rules(answer as JsonValue, { type: 'RiskScore' })).toEqual([]);
  });
});

describe('a validation', () => {
  it('reports all violations in the order of the checks', () => {
    const answer = { type: 'Opinion', confidence: 0.1, value: 7 };
    const asked = { type: 'FactualClaim', confidenceFloor: 0.5, requiredFields: ['source'], range: { max: 1 } };
    expect(rules(answer, asked)).toEqual(['epistemic_exclusion', 'confidence_floor', 'missing_fields', 'range_above_max']);
  });

  it('is valid exactly if nothing is reported, for every answer', () => {
    const asked = { type: 'RiskScore', confidenceFloor: 0.5, requiredFields: ['a'], range: { min: 0.5 } };
    fc.assert(
      fc.property(fc.jsonValue(), (answer) => {
        const { isValid, violations } = validateAnswer(answer as JsonValue, asked);
        expect(isValid).toBe(violations.length === 0);
      }),
    );
  });

  it('fails an attempt with all messages', () => {
    const result = validateAnswer({ confidence: 0.1 }, { confidenceFloor: 0.5, requiredFields: ['a'] });
    expect(formatError(validationFailure(result, { step: 'Read', unit: 'Review' }))).toBe(
      [
        '[L1] ValidationError: Semantic validation failed:',
        'Confidence 0.10 is below the floor of 0.50.',
        "Missing required fields: ['a']. Present fields: ['confidence'].",
        '  step: Read',
        '  flow: Review',
        '  details: Confidence 0.10 is below the floor of 0.50.',
        "Missing required fields: ['a']. Present fields: ['confidence'].",
      ].join('\n'),
    );
  });

  it('outside of a run names the confidence first, and joins the messages of other violations', () => {
    expect(requireValid('x', {})).toMatchObject({ ok: true });
    expect(requireValid({ confidence: 0.1, value: 7 }, { type: 'RiskScore', confidenceFloor: 0.5 }, { step: 'Read' })).toMatchObject({
      ok: false,
      error: {
        code: 'confidence_too_low',
        message: 'Confidence 0.10 is below the floor of 0.50.',
        context: { step: 'Read', expectedType: 'RiskScore', actualValue: "{'confidence': 0.1, 'value': 7}" },
      },
    });
    expect(requireValid({ type: 'Chunk', value: 7 }, { type: 'RiskScore' })).toMatchObject({
      ok: false,
      error: {
        code: 'validation_failed',
        message: "Type mismatch: expected 'RiskScore' but output declares 'Chunk'.; Value 7 exceeds maximum 1.",
      },
    });
  });
});
