const cleanups: (() => void)[] = [];
let listening = false;

/**
 * Runs a synchronous cleanup when this process exits, the newest one first. Returns a function that removes it again.
 */
export function atExit(cleanup: () => void): () => void {
  if (!listening) process.on('exit', runCleanups);
  listening = true;
  cleanups.push(cleanup);
  return () => {
    const index = cleanups.indexOf(cleanup);
    if (index >= 0) cleanups.splice(index, 1);
  };
}

function runCleanups(): void {
  for (const cleanup of cleanups.toReversed()) {
    try {
      cleanup();
    } catch {
      // The process is ending: the other cleanups are more important than the error of this one.
    }
  }
}
