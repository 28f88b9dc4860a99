/**
 * The statuses with which a run can end. `max_iterations_reached`: the limit of steps has ended it. `limit_reached`: any other limit has,
 * which the stop reason names.
 */
export const TERMINAL_STATUSES = ['completed', 'max_iterations_reached', 'limit_reached', 'error', 'cancelled'] as const;

/** The status of a run that has ended. */
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

/** The status of a run at any moment. `idle`: a session that waits for a message. */
export type RunStatus = TerminalStatus | 'running' | 'pending_confirmation' | 'paused' | 'idle';

/** The reason why a run ended; `closed` if a caller has closed a session. It is more precise than the status: it names the limit. */
export type StopReason =
  | 'final_answer'
  | 'step_limit'
  | 'token_budget'
  | 'cost_budget'
  | 'tool_call_limit'
  | 'deadline'
  | 'guardrail'
  | 'closed'
  | 'cancelled'
  | 'error';

/** True for the status of a run that has ended. */
export function isTerminal(status: RunStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly string[]).includes(status);
}

/** Returns the status of a run that a limit has ended. */
export function limitStatus(stopReason: StopReason): 'max_iterations_reached' | 'limit_reached' {
  return stopReason === 'step_limit' ? 'max_iterations_reached' : 'limit_reached';
}

/** True for the status of a run that a limit has ended. */
export function isLimitStatus(status: RunStatus): status is 'max_iterations_reached' | 'limit_reached' {
  return status === 'max_iterations_reached' || status === 'limit_reached';
}
