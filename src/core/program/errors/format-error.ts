import { cutText } from '../../domain/byte-budgets.ts';
import { ERROR_CODES, type ErrorCode } from '../../domain/errors.ts';
import { MAX_ERROR_BYTES, type StepError } from './step-error.ts';
import { breachMessage } from './step-failures.ts';

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
export function formatError(error: StepError): string {
  const { code, context, cause } = error;
  const row = ERROR_CODES[code];
  if ('seedName' in row && !('level' in row)) return error.message;
  const { step, unit, attempt, details = cause === undefined ? undefined : cutText(formatError(cause), MAX_ERROR_BYTES) } = context;
  return [
    `[L${errorLevel(code)}] ${seedNameOf(code)}: ${seedMessage(error)}`,
    ...(step === undefined ? [] : [`  step: ${step}`]),
    ...(unit === undefined ? [] : [`  flow: ${unit}`]),
    ...(attempt === undefined ? [] : [`  attempt: ${attempt}`]),
    ...(details === undefined ? [] : [`  details: ${details}`]),
  ].join('\n');
}

/** AXON words a breach of anchors in its own way. A message that somebody else has given stays as it is. */
function seedMessage({ code, message, context }: StepError): string {
  if (code !== 'anchor_breach' || message !== breachMessage(context)) return message;
  return `L3 Anchor breach detected:\n${context.details ?? ''}`;
}
