// Shared state: the messages that guardrails have not checked.

import { guardrailsOf } from '../../domain/guardrails.ts';
import type { RunState } from '../state/run-state.ts';

/** Notes that the messages from that offset on must be checked, if the agent has guardrails for input. */
export function noteUnchecked(state: RunState, offset: number): void {
  if (guardrailsOf(state.snapshot, 'input').length > 0) state.uncheckedFrom ??= offset;
}
