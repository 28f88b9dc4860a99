import { sleepBy } from './waiting.ts';

/** The globals that this module keeps. */
type Kept = 'setTimeout' | 'clearTimeout' | 'setImmediate' | 'clearImmediate' | 'Date';

/** What a library of fake timers (that of Sinon, Vitest and Jest) has put in the place of a global, which its clock keeps. */
interface Fake {
  clock?: Record<`_${Kept}`, unknown>;
}

/** Returns a global of Node, also while a test has fake ones. */
function realOf<Name extends Kept>(name: Name): (typeof globalThis)[Name] {
  let found = globalThis[name];
  for (;;) {
    const kept = (found as Fake).clock?.[`_${name}`];
    if (typeof kept !== 'function') return found;
    found = kept as (typeof globalThis)[Name];
  }
}

// A run in memory must go on while the test of a user has fake timers: these replace the globals and the exports of `node:timers`, before or
// after this module is loaded.
export const setRealTimeout = realOf('setTimeout');
export const clearRealTimeout = realOf('clearTimeout');
export const setRealImmediate = realOf('setImmediate');
export const clearRealImmediate = realOf('clearImmediate');

const RealDate = realOf('Date');

/** Returns the real time in milliseconds since the epoch, which no fake clock changes. */
export const realTime = (): number => RealDate.now();

/** Waits for the next turn of the event loop. */
export async function realTurn(): Promise<void> {
  await new Promise<void>((resolve) => void setRealImmediate(resolve));
}

/** Waits for this many milliseconds, or rejects with the reason of the signal. `ref`: false to let the process end meanwhile. */
export async function realSleep(ms: number, { signal, ref = true }: { signal?: AbortSignal; ref?: boolean } = {}): Promise<void> {
  const set = (call: () => void, after: number): NodeJS.Timeout => {
    const timer = setRealTimeout(call, after);
    return ref ? timer : timer.unref();
  };
  await sleepBy({ set, clear: clearRealTimeout }, ms, signal);
}
