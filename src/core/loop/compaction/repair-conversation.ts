// Model phase: repairs a conversation that the provider of a session refuses.

import { jsonTextPrefix } from '../../domain/content/text.ts';
import type { ErrorCode } from '../../domain/errors/error.ts';
import type { NextStep } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import { recordNotices, type RunState } from '../state/run-state.ts';
import { shortenConversation, summariseEarlier } from './compact.ts';

/** Bytes of a refusal that a session remembers. */
const REFUSAL_BYTES = 300;

/** True for the codes of a request that a provider refuses as it is. The client has tried the forms that it knows. */
export function isRefusal(code: ErrorCode): boolean {
  return code === 'model_bad_request' || code === 'model_unprocessable';
}

/**
 * Handles the refusal of a request. What is in the conversation of a session stays there, and would be refused in every later turn. So the
 * second refusal of the same words without an answer in between has the conversation compacted, once in a turn. Undefined: the turn ends
 * with what the provider said. The conversation of a run without turns is not changed, because the run ends with its error.
 */
export async function repairConversation(state: RunState, ports: RunPorts, refused: string): Promise<'repaired' | NextStep | undefined> {
  const { session } = state;
  if (session === undefined) return undefined;
  const refusal = wordsOf(refused);
  if (session.refusal !== refusal) {
    session.refusal = refusal;
    return undefined;
  }
  const { bytes, events } = state.window;
  const compacted = (await summariseEarlier(state, ports)) ?? (await shortenConversation(state, ports));
  if (compacted === undefined) return undefined;
  if (compacted !== 'summarised' && compacted !== 'shortened') return unlessFailed(compacted);
  session.compactedAt = session.turns;
  const what = `${events.length} events with ${bytes} bytes are now ${state.window.events.length} with ${state.window.bytes}`;
  const message = `The provider refused the conversation twice, so it was compacted: ${what}`;
  recordNotices(state, ports, [{ code: 'conversation_repaired', message }]);
  return 'repaired';
}

/** A compaction that failed does not hide what the provider said. */
function unlessFailed(next: NextStep): NextStep | undefined {
  return next.type === 'finish' && next.ending.status === 'error' ? undefined : next;
}

/** Returns the words of a refusal without ids and places, which differ from request to request. */
function wordsOf(message: string): string {
  const words = message.replaceAll(/[\w-]+/g, (word) => (/\d/.test(word) ? '#' : word));
  return jsonTextPrefix(words, REFUSAL_BYTES);
}
