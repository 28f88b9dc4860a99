import { ERROR_CODES, type ErrorCode } from '../../../../src/core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import {
  type GivenErrorContext,
  newStepError,
  seedNameOf,
  type StepError,
  type StepErrorContext,
} from '../../../../src/core/program/step-errors.ts';
import { only } from '../fields.ts';

/** The names of the fields of a context, and what the cases call them. */
export const CONTEXT_NAMES: readonly [keyof StepErrorContext, string][] = [
  ['step', 'step_name'],
  ['unit', 'flow_name'],
  ['attempt', 'attempt'],
  ['expectedType', 'expected_type'],
  ['actualValue', 'actual_value'],
  ['anchorName', 'anchor_name'],
  ['details', 'details'],
];

/** The fields of a context as the cases call them. */
export const CONTEXT_KEYS = CONTEXT_NAMES.map(([, name]) => name);

/** Returns the context of a case in the words of the product. */
export function contextOf(input: JsonObject): GivenErrorContext {
  return Object.fromEntries(CONTEXT_NAMES.flatMap(([field, name]) => (input[name] === undefined ? [] : [[field, input[name]]])));
}

/** Returns the failure of a step with the name that a case gives; undefined if it is not the name of such a failure. */
export function namedError(name: string, message: string, context: JsonValue | undefined): StepError | undefined {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  const code = codes.find((one) => 'level' in ERROR_CODES[one] && seedNameOf(one) === name);
  return code === undefined ? undefined : newStepError(code, message, contextOf(only('The context', context ?? {}, CONTEXT_KEYS)));
}
