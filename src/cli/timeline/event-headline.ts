import type { Event, MemoryNote } from '../../core/domain/record.ts';
import { printableLine } from '../../core/domain/text.ts';
import { decidedText, permissionsText, raisedText, refusedText } from '../render/decision-text.ts';
import { guardrailText } from '../render/guardrail-text.ts';
import { noteText } from '../render/note-text.ts';
import { refreshText, turnText } from '../render/turn-text.ts';
import type { Look } from '../output.ts';

/**
 * Returns the fact that an event records besides its content, in one line, with its style; undefined if it records
 * none.
 */
export function eventHeadline({
  decision,
  refused,
  raised,
  permissions,
  guardrails,
  interrupted,
  failed,
  partial,
  turn,
  memory,
  refresh,
  cleared,
  step,
  timestamp,
}: Event): { text: string; look: Look } | undefined {
  if (decision !== undefined) return { text: decidedText(decision), look: decision.type === 'reject' ? 'red' : 'green' };
  if (refused !== undefined) return { text: refusedText(refused), look: 'yellow' };
  if (raised !== undefined) return { text: raisedText(raised), look: 'green' };
  if (permissions !== undefined) return { text: permissionsText(permissions), look: 'yellow' };
  if (guardrails !== undefined) return guardrailText(guardrails);
  if (memory !== undefined) return memoryText(memory);
  if (failed !== undefined) return { text: `(the model call failed: ${failed.code})`, look: 'red' };
  if (interrupted) return { text: '(interrupted)', look: 'yellow' };
  if (partial) return { text: '(other calls of the same answer wait for a decision)', look: 'dim' };
  if (turn !== undefined) return turnText(turn);
  if (cleared) return { text: 'the conversation is emptied', look: 'dim' };
  if (refresh !== undefined) return refreshText(refresh);
  return noteText({ timestamp, ...(step === undefined ? {} : { step }) });
}

/** Returns the part that a memory had in a model call in one line, with its style. */
function memoryText(note: MemoryNote): { text: string; look: Look } {
  if ('unavailable' in note) return { text: `(the memory was not available: ${printableLine(note.unavailable)})`, look: 'yellow' };
  return { text: `(${note.entries === 1 ? '1 entry' : `${note.entries} entries`} from the memory)`, look: 'dim' };
}
