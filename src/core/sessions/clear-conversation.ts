import type { RunPorts } from '../loop/ports.ts';
import { recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';

/** Empties the conversation that the model sees. The record keeps it, and so do deps, state, turns and limits of the session. */
export function clearConversation(state: OpenSession, ports: RunPorts): void {
  const { session, snapshot, window } = state;
  delete session.resetDue;
  if (window.events.length === 0) return;
  recordEvent(state, ports, { author: snapshot.name, content: [], cleared: true, compaction: { summarised: { head: null, tail: null } } });
  session.compactedAt = session.turns;
  delete state.measured;
  delete state.code;
  delete state.loadedSkills;
}
