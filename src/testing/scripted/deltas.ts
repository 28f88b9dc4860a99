import type { ModelCallContext } from '../../core/domain/model/model.ts';
import type { ModelDelta } from '../../core/domain/stream/delta.ts';
import type { ScriptedPace } from './script-entry.ts';

/** Reports each part of an answer in pieces. Rejects with the reason of the signal if it is aborted meanwhile. */
export async function stream(parts: readonly ModelDelta[], { chunks, everyMs }: ScriptedPace, context: ModelCallContext): Promise<void> {
  const { onDelta, signal } = context;
  if (onDelta === undefined && everyMs === 0) return;
  for (const part of parts) {
    for (const text of pieces(part.text, chunks)) {
      onDelta?.({ ...part, text });
      if (everyMs > 0) await pause(everyMs, signal);
    }
  }
}

/** Cuts a text into pieces of about the same length, each of whole characters. An empty text has none. */
function pieces(text: string, chunks: number): string[] {
  const characters = Array.from(text);
  const count = Math.min(chunks, characters.length);
  const at = (index: number): number => Math.round((index * characters.length) / count);
  return Array.from({ length: count }, (_, index) => characters.slice(at(index), at(index + 1)).join(''));
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
}
