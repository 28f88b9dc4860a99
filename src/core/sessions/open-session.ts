import type { SessionInput } from '../domain/sessions/session-input.ts';
import type { SessionState } from '../domain/sessions/session-state.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { nothingSpent } from './spent.ts';

/** The state of a run that is a session. */
export type OpenSession = RunState & { session: SessionState };

/** True for the state of a session. */
export function isSession(state: RunState): state is OpenSession {
  return state.session !== undefined;
}

/** Returns the state of a session that begins. `opens`: its first messages are to be answered. */
export function beginSession(input: SessionInput, { startedAt, opens }: { startedAt: number; opens: boolean }): SessionState {
  return { ...input, startedAt, turns: 0, spent: nothingSpent(), compactedAt: 0, ...(opens ? { opens: true as const } : {}) };
}
