/** How a run can end (seed 001). */
export const TERMINAL_STATUSES = ['completed', 'max_iterations_reached', 'error', 'cancelled'] as const;

/** The status of a run that has ended. */
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

/** The status of a run at any moment. */
export type RunStatus = TerminalStatus | 'running' | 'pending_confirmation' | 'paused';

/** Why a run ended: says more than the status, which is `max_iterations_reached` for every limit. */
export type StopReason =
  | 'final_answer'
  | 'step_limit'
  | 'token_budget'
  | 'cost_budget'
  | 'tool_call_limit'
  | 'deadline'
  | 'cancelled'
  | 'error';

/** True once a run cannot go on. */
export function isTerminal(status: RunStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly string[]).includes(status);
}
