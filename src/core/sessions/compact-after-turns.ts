import { shouldCompact } from '../domain/sessions/session-limits.ts';
import { shortenConversation } from '../loop/compaction/compact.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { OpenSession } from './open-session.ts';

/**
 * Compacts the conversation of a session after some turns, also if its window is not full: long conversations cost tokens with each
 * answer. A summary that fails is left for a later turn.
 */
export async function compactAfterTurns(state: OpenSession, ports: RunPorts): Promise<void> {
  const { session, snapshot } = state;
  if (snapshot.window?.summarise !== true || !shouldCompact(session, session.turns - session.compactedAt)) return;
  // The turn that begins is the first after the compaction.
  session.compactedAt = session.turns - 1;
  await shortenConversation(state, ports);
}
