import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { withoutSecrets } from '../attempts/checked-activity.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { causeOf, messageOf, withStack } from '../failures/serializable-failure.ts';

/** What the failure of an attempt says beside what was thrown. */
export interface AttemptFailure {
  message: string;
  /** Milliseconds until the next attempt, where the tool says so. */
  nextRetryDelay?: number;
}

/**
 * The failure of an attempt whose tool has thrown, with the stack and the causes of what was thrown: the SDK logs it, and
 * the Temporal UI shows it while the call is tried again.
 */
export function failureOfTool({ secrets }: ActivityRuntime, error: unknown, options: AttemptFailure): ApplicationFailure {
  const fitting = withoutSecrets(secrets);
  const cause = causeOf(error, fitting);
  const failure = ApplicationFailure.create({ type: 'tool_failed', ...options, ...(cause === undefined ? {} : { cause }) });
  return withStack(failure, error, fitting);
}

/** What has thrown, and where. */
export interface Thrower {
  /** As the line begins, such as `Tool "pay"`. */
  what: string;
  agent: string;
  step?: number;
  callId: string;
}

/** How a throw is logged. `error`: nothing is tried again. `debug`: the tool has thrown what is made for the model. */
export type ThrownLevel = 'error' | 'debug';

/**
 * Logs what a tool has thrown where its activity does not fail with it: the model or a person is told the message, and
 * whoever debugs needs the stack. Attempts that fail are logged by the SDK.
 */
export function logThrown(runtime: ActivityRuntime, { what, ...place }: Thrower, error: unknown, level: ThrownLevel): void {
  const message = messageOf(error, withoutSecrets(runtime.secrets));
  log[level](`${what} threw`, { ...place, error: failureOfTool(runtime, error, { message }) });
}
