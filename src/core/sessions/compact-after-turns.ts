import { shortenConversation } from '../loop/compaction/compact.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { OpenSession } from './open-session.ts';

/** The number of turns between two compactions, if the session names none. */
const COMPACT_AFTER = 20;

/**
 * Compacts the conversation of a session after some turns, also if its window is not full: long conversations cost tokens with each
 * answer. A summary that fails is left for a later turn.
 */
export async function compactAfterTurns(state: OpenSession, ports: RunPorts): Promise<void> {
  const { session, snapshot } = state;
  const { compactAfter = COMPACT_AFTER } = session;
  const ended = session.turns - 1;
  if (compactAfter === null || ended - session.compactedAt < compactAfter || snapshot.window?.summarise !== true) return;
  session.compactedAt = ended;
  await shortenConversation(state, ports);
}
