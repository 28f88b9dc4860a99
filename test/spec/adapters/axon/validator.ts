import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { errorLevel, formatError, seedNameOf } from '../../../../src/core/program/step-errors.ts';
import { type AnswerRules, requireValid, validateAnswer } from '../../../../src/core/program/ask.ts';
import type { Operation } from '../adapter.ts';
import { list, number, object, text } from '../fields.ts';

const RULES = ['output', 'expected_type', 'confidence_floor', 'type_fields', 'range_min', 'range_max', 'custom_types'];

/** Suite `axon.semantic_validator`: the validation of answers. */
export const axonValidatorOperations: Readonly<Record<string, Operation>> = {
  'validator.validate': { input: RULES, expect: ['is_valid', 'rules', 'messages', 'violations', 'confidence'], perform: validate },
  'validator.validate_and_raise': {
    input: [...RULES, 'step_name', 'flow_name'],
    expect: ['ok', 'error_type', 'level', 'message', 'text'],
    perform: validateAndRaise,
  },
};

function validate(input: JsonObject): unknown {
  const { isValid, violations, confidence } = validateAnswer(input['output'] ?? null, rulesOf(input));
  return {
    is_valid: isValid,
    rules: violations.map(({ rule }) => rule),
    messages: violations.map(({ message }) => message),
    violations,
    confidence,
  };
}

function validateAndRaise(input: JsonObject): unknown {
  const place = { step: text(input['step_name']), unit: text(input['flow_name']) };
  const validated = requireValid(input['output'] ?? null, rulesOf(input), place);
  if (validated.ok) return { ok: true };
  const { code, message } = validated.error;
  return { error_type: seedNameOf(code), level: errorLevel(code), message, text: formatError(validated.error) };
}

function rulesOf({ expected_type, confidence_floor, type_fields, range_min, range_max, custom_types }: JsonObject): AnswerRules {
  return {
    ...given('type', expected_type, text),
    ...given('confidenceFloor', confidence_floor, toNumber),
    ...given('requiredFields', type_fields, texts),
    range: { ...given('min', range_min, toNumber), ...given('max', range_max, toNumber) },
    ...given('customTypes', custom_types, toCustomTypes),
  };
}

/** Returns an object with the key, or an empty one if the case does not mention it. */
function given<Key extends string, Value>(
  key: Key,
  value: JsonValue | undefined,
  translate: (value: JsonValue) => Value,
): { [K in Key]?: Value } {
  return value === undefined || value === null ? {} : ({ [key]: translate(value) } as { [K in Key]: Value });
}

function toNumber(value: JsonValue): number {
  return number(value, 0);
}

function texts(value: JsonValue): string[] {
  return list(value).map((one) => text(one));
}

function toCustomTypes(value: JsonValue): Record<string, string[]> {
  return Object.fromEntries(Object.entries(object(value)).map(([name, fields]) => [name, texts(fields)]));
}
