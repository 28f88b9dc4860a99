const INTERVAL_MS = 3_000;

/** Reports progress every few seconds until `stop` is called. `describe` receives the elapsed whole seconds. */
export function reportProgress(say: (line: string) => void, describe: (seconds: number) => string): { stop: () => void } {
  const start = performance.now();
  const timer = setInterval(() => say(describe(Math.round((performance.now() - start) / 1000))), INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}
