import { beginRecall, noteError, recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPorts } from './session-ports.ts';

/** The time without a turn after which the agent is resolved again, in milliseconds. */
const REFRESH_AFTER_MS = 3_600_000;

/** True if the agent is resolved again before the turn that begins: a caller has asked for it, or its definition may have changed since. */
export function isRefreshDue({ session, handoffs }: OpenSession, now: number): boolean {
  // Each agent of a run that was handed over is pinned with it.
  if (session.refresh === 'never' || (handoffs !== undefined && handoffs.count > 0)) return false;
  return session.refreshDue === true || now - (session.idleSince ?? now) >= REFRESH_AFTER_MS;
}

/** Resolves the agent again. If that fails, for instance because the deps do not fit any more, the agent stays as it was, and the record says so. */
export async function refreshAgent(state: OpenSession, ports: SessionPorts): Promise<void> {
  const resolved = await ports.refreshAgent();
  if (resolved.type === 'cancelled') return;
  delete state.session.refreshDue;
  const { snapshot } = state;
  if (resolved.type === 'failed') {
    const { code, message } = resolved;
    noteError(state, `Agent "${snapshot.name}" stays as it was: ${message}`);
    recordEvent(state, ports, { author: snapshot.name, content: [], refresh: { failed: { code, message } } });
    return;
  }
  const { digest } = resolved.snapshot;
  if (digest === snapshot.digest) return;
  state.snapshot = resolved.snapshot;
  state.limits = resolved.snapshot.limits;
  // The provider counted the tokens of another request.
  delete state.measured;
  beginRecall(state);
  ports.switchAgent(resolved.snapshot);
  recordEvent(state, ports, { author: snapshot.name, content: [], refresh: { digest } });
}
