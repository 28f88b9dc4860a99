import { defined, isJsonObject, type JsonValue } from '../domain/json.ts';
import type { AnchorVerdict, ValidationResult, Violation, ViolationRule } from '../domain/verdicts.ts';
import { breachMessage, debugText, newStepError, type StepError, type StepPlace } from './step-errors.ts';
import type { AskDocument, UnitDocument } from '../domain/program-document.ts';
import { interpolate, type Lookup } from './references.ts';

/** The rules for an answer. An absent rule is not checked. */
export interface AnswerRules {
  /** The type that the answer must not contradict in its field `type` or `_type`. */
  type?: string;
  /** The minimum of the confidence that the answer declares in its field `confidence` or `_confidence`. */
  confidenceFloor?: number;
  /** The confidence that the model reports next to its answer. It counts if the answer declares none. */
  reportedConfidence?: number;
  /** Fields that the answer must have. */
  requiredFields?: readonly string[];
  /** The bounds of the answer, or of its field `value` or `score`. Each replaces the bound of the type. */
  range?: NumberRange;
  /** Required fields by the name of a custom type. They apply if `requiredFields` is absent. */
  customTypes?: Readonly<Record<string, readonly string[]>>;
}

/** Validates an answer against all rules, and reports every violation, in the order type, confidence, fields, range. */
export function validateAnswer(answer: JsonValue, rules: AnswerRules): ValidationResult {
  const declared = numeric(answerField(answer, 'confidence', '_confidence')) ?? rules.reportedConfidence;
  const confidence = rules.confidenceFloor === undefined ? undefined : declared;
  const violations = [
    ...typeViolations(answer, rules.type),
    ...confidenceViolations(confidence, rules.confidenceFloor),
    ...fieldViolations(answer, requiredFields(rules)),
    ...rangeViolations(answer, rangeOf(rules.type, rules.range)),
  ];
  return { isValid: violations.every(({ severity }) => severity !== 'error'), violations, confidence: confidence ?? null };
}

/** Returns the first of two fields, even if it is empty, or the second only if the first is absent. */
function answerField(answer: JsonValue, name: string, otherwise: string): JsonValue | undefined {
  if (!isJsonObject(answer)) return undefined;
  return [name, otherwise].filter((key) => Object.hasOwn(answer, key)).map((key) => answer[key])[0];
}

function violation(rule: ViolationRule, message: string, found: { expected: string; actual: string }): Violation {
  return { rule, message, ...found, severity: 'error' };
}

function typeViolations(answer: JsonValue, expected: string | undefined): Violation[] {
  const declared = answerField(answer, 'type', '_type');
  if (!expected || declared === expected || declaresNothing(declared)) return [];
  const actual = typeof declared === 'string' ? declared : debugText(declared);
  if (isEpistemic(expected) && isEpistemic(declared)) {
    const message = `Epistemic type mismatch: expected '${expected}' but output declares '${actual}'. These types are mutually exclusive.`;
    return [violation('epistemic_exclusion', message, { expected, actual })];
  }
  const message = `Type mismatch: expected '${expected}' but output declares '${actual}'.`;
  return [violation('type_mismatch', message, { expected, actual })];
}

/** True for values that declare nothing. */
function declaresNothing(value: JsonValue | undefined): value is undefined {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}

function confidenceViolations(confidence: number | undefined, floor: number | undefined): Violation[] {
  if (confidence === undefined || floor === undefined || confidence >= floor) return [];
  const actual = hundredths(confidence);
  const message = `Confidence ${actual} is below the floor of ${hundredths(floor)}.`;
  return [violation('confidence_floor', message, { expected: `>= ${floor}`, actual })];
}

/** Formats a confidence with two decimals, as AXON does, or with all of them if it has more: rounded values could look equal. */
function hundredths(confidence: number): string {
  const rounded = confidence.toFixed(2);
  return Number(rounded) === confidence ? rounded : String(confidence);
}

function requiredFields({ type, requiredFields: fields = [], customTypes = {} }: AnswerRules): readonly string[] {
  if (fields.length > 0 || type === undefined || !Object.hasOwn(customTypes, type)) return fields;
  return customTypes[type] ?? [];
}

function fieldViolations(answer: JsonValue, fields: readonly string[]): Violation[] {
  if (fields.length === 0) return [];
  const expected = debugText([...fields]);
  if (!isJsonObject(answer)) {
    const actual = jsonKind(answer);
    const message = `Expected structured output (object) with fields ${expected}, but got ${actual}.`;
    return [violation('structured_type', message, { expected: 'object', actual })];
  }
  const missing = fields.filter((name) => !Object.hasOwn(answer, name));
  if (missing.length === 0) return [];
  const actual = debugText(Object.keys(answer));
  const message = `Missing required fields: ${debugText(missing)}. Present fields: ${actual}.`;
  return [violation('missing_fields', message, { expected, actual })];
}

function jsonKind(answer: JsonValue): string {
  if (answer === null) return 'null';
  return Array.isArray(answer) ? 'array' : typeof answer;
}

function rangeViolations(answer: JsonValue, { min, max }: NumberRange): Violation[] {
  const value = typeof answer === 'number' ? answer : numeric(answerField(answer, 'value', 'score'));
  if (value === undefined) return [];
  const actual = String(value);
  const violations: Violation[] = [];
  if (min !== undefined && value < min) {
    const message = `Value ${actual} is below minimum ${min}.`;
    violations.push(violation('range_below_min', message, { expected: `>= ${min}`, actual }));
  }
  if (max !== undefined && value > max) {
    const message = `Value ${actual} exceeds maximum ${max}.`;
    violations.push(violation('range_above_max', message, { expected: `<= ${max}`, actual }));
  }
  return violations;
}

const NUMBER_CHARACTERS = /^[\d.eE+-]+$/;

/** Reads a number that a model gave as a number or as text, or returns undefined. */
function numeric(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  // Number accepts an empty text, and texts such as "0x10" and "Infinity".
  if (!NUMBER_CHARACTERS.test(text)) return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? undefined : number;
}

/** Types of statements. They are mutually exclusive. */
export const EPISTEMIC_TYPES = ['FactualClaim', 'Opinion', 'Uncertainty', 'Speculation'] as const;

const CONTENT_TYPES = ['Document', 'Chunk', 'EntityMap', 'Summary', 'Translation'] as const;

/** Types of analyses. */
const ANALYSIS_TYPES = ['RiskScore', 'ConfidenceScore', 'SentimentScore', 'ReasoningChain', 'Contradiction'] as const;

/** Types composed of other types. */
const COMPOUND_TYPES = ['StructuredReport'] as const;

/** All semantic types of AXON. An answer may also declare any other type. */
export const SEMANTIC_TYPES: readonly string[] = [...EPISTEMIC_TYPES, ...CONTENT_TYPES, ...ANALYSIS_TYPES, ...COMPOUND_TYPES];

/** The bounds of a number, both inclusive. */
interface NumberRange {
  min?: number;
  max?: number;
}

const RANGES: ReadonlyMap<string, Required<NumberRange>> = new Map([
  ['RiskScore', { min: 0, max: 1 }],
  ['ConfidenceScore', { min: 0, max: 1 }],
  ['SentimentScore', { min: -1, max: 1 }],
]);

/** True for a type that excludes the other statement types. */
function isEpistemic(type: unknown): boolean {
  return (EPISTEMIC_TYPES as readonly unknown[]).includes(type);
}

/** Returns the bounds for an answer of a type: explicit bounds, or else the type's. */
function rangeOf(type: string | undefined, explicit: NumberRange = {}): NumberRange {
  const ofType = type === undefined ? undefined : RANGES.get(type);
  const min = explicit.min ?? ofType?.min;
  const max = explicit.max ?? ofType?.max;
  return defined({ min, max });
}

/** Returns the failure of an attempt with an invalid answer. Its details are the violations' messages, one per line. */
export function validationFailure({ violations }: ValidationResult, place: StepPlace): StepError {
  const details = violations.map(({ message }) => message).join('\n');
  return newStepError('validation_failed', `Semantic validation failed:\n${details}`, { ...place, details });
}

/** The outcome of `requireValid`. */
type Validated = { ok: true; result: ValidationResult } | { ok: false; result: ValidationResult; error: StepError };

/**
 * Validates one answer outside of a run. If the confidence is too low, that is the failure, even if there are other violations; otherwise
 * their messages are joined.
 */
export function requireValid(answer: JsonValue, rules: AnswerRules, place: Partial<StepPlace> = {}): Validated {
  const result = validateAnswer(answer, rules);
  if (result.isValid) return { ok: true, result };
  const errors = result.violations.filter(({ severity }) => severity === 'error');
  const tooLow = errors.find(({ rule }) => rule === 'confidence_floor');
  const context = { ...place, ...defined({ expectedType: rules.type }), actualValue: answer };
  if (tooLow !== undefined) return { ok: false, result, error: newStepError('confidence_too_low', tooLow.message, context) };
  const message = errors.map((one) => one.message).join('; ');
  return { ok: false, result, error: newStepError('validation_failed', message, context) };
}

/** Returns the failure of an attempt whose answer breaches anchors. Its details are the violations, one per line. */
export function anchorFailure({ breaches }: AnchorVerdict, place: StepPlace): StepError {
  const details = breaches.flatMap(({ violations }) => violations).join('\n');
  const anchorName = breaches.map(({ anchor }) => anchor).join(', ');
  const { code, context } = newStepError('anchor_breach', '', { ...place, anchorName, details });
  return { code, message: breachMessage(context), context };
}

/** Returns the texts of an `ask` that may contain references: its unit's texts, and its prompt. */
export function askPromptTexts(
  { persona, context, instructions = [] }: UnitDocument,
  { prompt }: AskDocument,
): { system: string[]; prompt: string } {
  const system = [persona ?? '', context ?? '', ...(typeof instructions === 'string' ? [instructions] : instructions)];
  return { system: system.filter((text) => text !== ''), prompt };
}

/** Returns the names of the anchors of an `ask`: its unit's, and its own. */
export function anchorNames({ anchors: ofUnit = [] }: UnitDocument, { anchors = [] }: AskDocument): string[] {
  return [...new Set([...ofUnit, ...anchors])];
}

/** The texts of one model call by a program. */
interface AskPrompt {
  /** The parts of the system prompt: persona, context, instructions, and the texts of the anchors. */
  instructions: string[];
  prompt: string;
}

/** The text between a prompt and its failure context. */
export const FAILURE_CONTEXT = '\n\nPrevious attempt failed: ';

/** A prompt with its failure context, or the problem of a reference. */
export type RenderedPrompt = ({ ok: true } & AskPrompt) | { ok: false; problem: string };

/** The parts of a prompt that are not in its texts. */
export interface PromptParts {
  lookup: Lookup;
  /** Unknown references stay as written. */
  lenient: boolean;
  /** The texts of the anchors, in order. */
  anchors: readonly string[];
  /** The text of the previous attempt's failure. */
  failure?: string;
  /** The prompt as edited by a person. */
  edited?: string;
}

/** Renders the prompt of an `ask`. The same parts give the same bytes. */
export function renderAsk(
  unit: UnitDocument,
  ask: AskDocument,
  { lookup, lenient, anchors, failure, edited }: PromptParts,
): RenderedPrompt {
  const texts = askPromptTexts(unit, ask);
  const rendered: string[] = [];
  for (const text of [...texts.system, texts.prompt]) {
    const one = interpolate(text, lookup, { lenient });
    if (!one.ok) return { ok: false, problem: one.problem };
    rendered.push(one.value);
  }
  const own = edited ?? rendered.pop() ?? '';
  if (edited !== undefined) rendered.pop();
  const prompt = failure === undefined ? own : `${own}${FAILURE_CONTEXT}${failure}`;
  return { ok: true, instructions: [...rendered, ...anchors], prompt };
}
