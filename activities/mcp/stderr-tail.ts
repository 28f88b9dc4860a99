import type { Stream } from 'node:stream';

const MAX_LINES = 10;
const MAX_LINE = 500;

/**
 * Reads the standard error of a server, so that its process never blocks, and returns a function for its last lines,
 * each one line of printable text.
 */
export function stderrTail(stream: Stream | null, redact: (text: string) => string): () => string[] {
  let tail = '';
  stream?.on('data', (chunk: unknown) => {
    tail += String(chunk);
    if (tail.length <= MAX_LINES * MAX_LINE) return;
    // Only whole lines are kept: half a secret would not be found.
    const kept = tail.slice(-MAX_LINES * MAX_LINE);
    tail = kept.slice(kept.indexOf('\n') + 1 || kept.length);
  });
  stream?.on('error', () => undefined);
  return () =>
    redact(tail)
      .split('\n')
      .map((line) =>
        line
          .replaceAll(/\p{C}+/gu, ' ')
          .trim()
          .slice(0, MAX_LINE),
      )
      .filter((line) => line !== '')
      .slice(-MAX_LINES);
}
