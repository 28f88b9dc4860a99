import type { Stream } from 'node:stream';

const MAX_LINES = 10;
const MAX_LINE = 500;

/** Reads what a server writes to its standard error, so that it never waits for a reader, and gives the last lines of it, each one line of printable text. */
export function stderrTail(stream: Stream | null, redact: (text: string) => string): () => string[] {
  let tail = '';
  stream?.on('data', (chunk: unknown) => {
    tail += String(chunk);
    if (tail.length <= MAX_LINES * MAX_LINE) return;
    // Whole lines: half a secret would not be found.
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
