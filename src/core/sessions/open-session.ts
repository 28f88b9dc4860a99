import type { SessionInput } from '../domain/run-input.ts';
import type { SessionOverrides, SessionState } from '../domain/sessions.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { nothingSpent } from './spent.ts';

/** The state of a run that is a session. */
export type OpenSession = RunState & { session: SessionState };

/** True for the state of a session. */
export function isSession(state: RunState): state is OpenSession {
  return state.session !== undefined;
}

/** The beginning of a session, besides its input. */
export interface SessionBeginning {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The first messages are to be answered. */
  opens: boolean;
  overrides: SessionOverrides;
}

/** Returns the state of a session that begins. */
export function beginSession(input: SessionInput, { startedAt, opens, overrides }: SessionBeginning): SessionState {
  const hasOverrides = input.refresh !== 'never' && Object.keys(overrides).length > 0;
  return {
    ...input,
    startedAt,
    turns: 0,
    spent: nothingSpent(),
    compactedAt: 0,
    ...(hasOverrides ? { overrides } : {}),
    ...(opens ? { opens: true as const } : {}),
  };
}
