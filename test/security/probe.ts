import { checkPython } from '../../activities/executors/python/check-python.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { quickjsExecutor } from '../../activities/executors/quickjs/quickjs-executor.ts';

const LIMIT_MB = 16;
/** Megabytes that each probe takes at most, if no limit holds. */
const MOST_MB = 48;

/** Code that takes memory in one way, up to its bound. */
const PROBES: readonly string[] = [
  `const all = []; for (let i = 0; i < ${MOST_MB}; i += 1) all.push(new Uint8Array(2 ** 20).fill(1))`,
  `const all = []; for (let i = 0; i < ${MOST_MB}; i += 1) all.push('x'.repeat(2 ** 20) + i)`,
  `const all = []; for (let i = 0; i < ${(MOST_MB * 2 ** 20) / 16}; i += 1) all.push(i)`,
];

/** Explains why Python is not isolated on this machine; undefined if it is. */
export async function isolationProblem(): Promise<string | undefined> {
  return checkPython().then(() => undefined, errorMessage);
}

/** Explains why the limit of memory does not hold on this machine; undefined if it does. */
export async function memoryLimitProblem(): Promise<string | undefined> {
  for (const code of PROBES) {
    const executor = quickjsExecutor({ limits: { timeoutSeconds: 10, maxMemoryMb: LIMIT_MB } });
    try {
      const { error } = await executor.run(code, { now: 0, seed: 1 });
      if (error?.kind !== 'memory') return `code under a limit of ${LIMIT_MB} MB took more: ${code}`;
    } finally {
      await executor.close();
    }
  }
  return undefined;
}
