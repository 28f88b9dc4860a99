import type { TurnNote } from '../../core/domain/sessions/session-state.ts';
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
  error: 'red',
  cancelled: 'yellow',
};
