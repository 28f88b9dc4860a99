import { type Anchor, BUILT_IN_ANCHORS, builtInAnchor, checkAnchors, severityOf } from '../../../src/anchors/anchors.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { type AnswerRules, requireValid, validateAnswer } from '../../../src/core/program/ask.ts';
import { errorLevel, formatError, seedNameOf } from '../../../src/core/program/step-errors.ts';
import { CaseProblem, list, number, object, type Operation, text } from './adapter.ts';
import { mapTexts } from './wording.ts';

/** The names of types in Python and in JSON, which the product uses. */
const TYPES: Readonly<Record<string, string>> = {
  str: 'string',
  int: 'number',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  NoneType: 'null',
};

/** Converts the texts of the validator in an expectation to JSON's type names, and its whole numbers to JSON's. */
export function jsonTypeNames(expect: JsonValue): JsonValue {
  return mapTexts(expect, (said) =>
    said
      .replaceAll('Expected structured output (dict)', 'Expected structured output (object)')
      .replaceAll(/(Value|minimum|maximum) (-?\d+)\\?\.0(?= |\\?\.)/g, '$1 $2')
      .replaceAll(/, but got (str|int|float|bool|list|NoneType)\./g, (_, type: string) => `, but got ${TYPES[type] ?? type}.`),
  );
}

/** Suite `axon.anchors`: the built-in anchors. */
export const axonAnchorOperations: Readonly<Record<string, Operation>> = {
  'anchor.list': { input: [], expect: ['names'], perform: () => ({ names: BUILT_IN_ANCHORS.map(({ name }) => name) }) },
  'anchor.check': { input: ['anchor', 'content'], expect: ['passed', 'violations'], perform: check },
  'anchor.meta': {
    input: ['anchor'],
    expect: ['require', 'reject', 'confidence_floor', 'unknown_response', 'on_violation', 'severity'],
    perform: ({ anchor }) => declared(named(anchor)),
  },
};

/** An anchor of a case warns or stops; there, both are a check that is not passed. */
async function check({ anchor, content }: JsonObject): Promise<JsonObject> {
  const { breaches, warnings } = await checkAnchors(text(content), [named(anchor)], { step: 'step' });
  const violations = [...breaches, ...warnings].flatMap((breach) => breach.violations);
  return { passed: violations.length === 0, violations };
}

function declared(anchor: Anchor): JsonObject {
  const { require = '', reject = [], confidenceFloor = null, unknownResponse = '', onViolation } = anchor;
  return {
    require,
    reject: [...reject],
    confidence_floor: confidenceFloor,
    unknown_response: unknownResponse,
    on_violation: onViolation,
    severity: severityOf(anchor),
  };
}

function named(name: JsonValue | undefined): Anchor {
  const anchor = builtInAnchor(text(name));
  if (anchor === undefined) throw new CaseProblem(`There is no anchor "${text(name)}"`);
  return anchor;
}

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
