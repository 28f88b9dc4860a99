import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { secretSanitizer } from '../attempts/checked-activity.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { causeOf, messageOf, withStack } from '../failures/serializable-failure.ts';

/** Fields of the failure of an attempt besides those of the error. */
export interface AttemptFailure {
  message: string;
  /** Milliseconds until the next attempt, if the tool sets that. */
  nextRetryDelay?: number;
}

/**
 * Creates the failure of an attempt whose tool has thrown, with the stack and the causes of the error: the SDK logs it,
 * and the Temporal UI shows it while the call is retried.
 */
export function attemptFailure({ secrets }: ActivityRuntime, error: unknown, options: AttemptFailure): ApplicationFailure {
  const sanitizer = secretSanitizer(secrets);
  const cause = causeOf(error, sanitizer);
  const failure = ApplicationFailure.create({ type: 'tool_failed', ...options, ...(cause === undefined ? {} : { cause }) });
  return withStack(failure, error, sanitizer);
}

/** The code that has thrown, and the call that it belongs to. */
export interface ErrorSource {
  /** The start of the log line, such as `Tool "pay"`. */
  what: string;
  agent: string;
  step?: number;
  callId: string;
}

/**
 * The level of the log line. `error`: the error is not retried. `debug`: the tool has thrown an error that is meant for
 * the model.
 */
export type ErrorLevel = 'error' | 'debug';

/**
 * Logs an error of a tool whose activity does not fail with it: the model or an approver reads the message, and the
 * author of the tool needs the stack. The SDK logs attempts that fail.
 */
export function logToolError(runtime: ActivityRuntime, { what, ...fields }: ErrorSource, error: unknown, level: ErrorLevel): void {
  const message = messageOf(error, secretSanitizer(runtime.secrets));
  log[level](`${what} threw`, { ...fields, error: attemptFailure(runtime, error, { message }) });
}
