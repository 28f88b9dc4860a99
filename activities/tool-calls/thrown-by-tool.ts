import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { withoutSecrets } from '../attempts/checked-activity.ts';
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
export function failureOfTool({ secrets }: ActivityRuntime, error: unknown, options: AttemptFailure): ApplicationFailure {
  const fitting = withoutSecrets(secrets);
  const cause = causeOf(error, fitting);
  const failure = ApplicationFailure.create({ type: 'tool_failed', ...options, ...(cause === undefined ? {} : { cause }) });
  return withStack(failure, error, fitting);
}

/** The code that has thrown, and the call that it belongs to. */
export interface Thrower {
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
export type ThrownLevel = 'error' | 'debug';

/**
 * Logs an error of a tool whose activity does not fail with it: the model or an approver reads the message, and the
 * author of the tool needs the stack. The SDK logs attempts that fail.
 */
export function logThrown(runtime: ActivityRuntime, { what, ...place }: Thrower, error: unknown, level: ThrownLevel): void {
  const message = messageOf(error, withoutSecrets(runtime.secrets));
  log[level](`${what} threw`, { ...place, error: failureOfTool(runtime, error, { message }) });
}
