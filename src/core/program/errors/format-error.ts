import { ERROR_CODES, type ErrorCode } from '../../domain/errors/error.ts';
import type { StepError } from './step-error.ts';

/** Returns the severity of a failure of a step, from 1 to 6. A code that is no error of steps has the severity of `step_failed`. */
export function errorLevel(code: ErrorCode): number {
  const row = ERROR_CODES[code];
  return 'level' in row ? row.level : ERROR_CODES.step_failed.level;
}

/** Returns the name of a failure in AXON. A code that is no error of steps has the name of `step_failed`. */
export function seedNameOf(code: ErrorCode): string {
  const row = ERROR_CODES[code];
  return 'seedName' in row ? row.seedName : ERROR_CODES.step_failed.seedName;
}

/**
 * Returns the text of a failure as AXON writes it: the message with its level and name, then lines with the circumstances. An error
 * that has a name and no level there is its message alone.
 */
export function formatError({ code, message, context }: StepError): string {
  const row = ERROR_CODES[code];
  if ('seedName' in row && !('level' in row)) return message;
  const { step, unit, attempt, details } = context;
  return [
    `[L${errorLevel(code)}] ${seedNameOf(code)}: ${message}`,
    ...(step === undefined ? [] : [`  step: ${step}`]),
    ...(unit === undefined ? [] : [`  flow: ${unit}`]),
    ...(attempt === undefined ? [] : [`  attempt: ${attempt}`]),
    ...(details === undefined ? [] : [`  details: ${details}`]),
  ].join('\n');
}
