import { recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPorts } from './session-ports.ts';

/**
 * Empties the conversation that the model sees, and has the agents that the session keeps forget theirs. The record keeps it; deps,
 * state, turns and limits of the session stay.
 */
export async function clearConversation(state: OpenSession, ports: SessionPorts): Promise<void> {
  const { session, kept } = state;
  delete session.resetDue;
  clearWindow(state, ports);
  if (kept === undefined) return;
  // The next call of each starts another session.
  delete state.kept;
  await ports.closeKept(kept);
}

function clearWindow(state: OpenSession, ports: SessionPorts): void {
  const { session, snapshot, window } = state;
  if (window.events.length === 0) return;
  recordEvent(state, ports, { author: snapshot.name, content: [], cleared: true, compaction: { summarised: { head: null, tail: null } } });
  session.compactedAt = session.turns;
  delete session.refusal;
  delete state.measured;
  delete state.code;
  delete state.loadedSkills;
}
