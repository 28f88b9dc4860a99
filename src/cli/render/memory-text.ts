import type { MemoryNote } from '../../core/domain/memory/memory-note.ts';
import { printableLine } from '../../core/domain/content/printable.ts';
import type { Look } from '../output.ts';

/** Returns the part that a memory had in a model call in one line, with its style. */
export function memoryText(note: MemoryNote): { text: string; look: Look } {
  if ('unavailable' in note) return { text: `(the memory was not available: ${printableLine(note.unavailable)})`, look: 'yellow' };
  return { text: `(${note.entries === 1 ? '1 entry' : `${note.entries} entries`} from the memory)`, look: 'dim' };
}
