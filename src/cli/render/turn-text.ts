import type { RefreshNote, TurnNote } from '../../core/domain/record.ts';
import type { Look } from '../output.ts';

/** Returns the end of a turn of a session in one line, with its style: `turn 3 ended: max_iterations_reached (step_limit)`. */
export function turnText({ number, status, stopReason, error }: TurnNote): { text: string; look: Look } {
  const more = stopReason === 'final_answer' || stopReason === status ? '' : ` (${stopReason})`;
  const why = error === undefined ? '' : `: ${error}`;
  return { text: `turn ${number} ended: ${status}${more}${why}`, look: LOOKS[status] };
}

const LOOKS: Record<TurnNote['status'], Look> = {
  completed: 'dim',
  max_iterations_reached: 'yellow',
  limit_reached: 'yellow',
  error: 'red',
  cancelled: 'yellow',
};

/** Returns the new resolution of the agent of a session in one line, with its style. */
export function refreshText(refresh: RefreshNote): { text: string; look: Look } {
  if ('digest' in refresh) return { text: `the agent is resolved again: digest ${refresh.digest}`, look: 'dim' };
  const { code, message } = refresh.failed;
  return { text: `the agent could not be resolved again, and stays as it was (${code}): ${message}`, look: 'yellow' };
}
