import { Intrinsics, QuickJS, type QuickJSOptions, type Snapshot } from 'quickjs-wasi';

/** The compiled engine, as the executor sends it. */
export type EngineModule = object;

/** Bytes of the engine's stack that code may use. The thread has 16 MB: its own stack never overflows first. */
const STACK_BYTES = 384 * 1024;

/** The text of the file name in positions of errors. */
export const FILE_NAME = 'code';

/** The settings of one memory of the engine. */
export interface EngineOptions extends Pick<QuickJSOptions, 'interruptHandler'> {
  engine: EngineModule;
  memoryLimit: number;
  moduleLoader: NonNullable<QuickJSOptions['moduleLoader']>;
  now: () => number;
}

/** Makes a context of its own memory, in which the time is always `now()`, in UTC, and nothing is random. */
export function createContext(options: EngineOptions): Promise<QuickJS> {
  return QuickJS.create(engineOptions(options));
}

/** Makes a context of the memory of another, which had the same options. */
export function restoreContext(snapshot: Snapshot, options: EngineOptions): Promise<QuickJS> {
  return QuickJS.restore(snapshot, engineOptions(options));
}

function engineOptions({ engine, now, ...limits }: EngineOptions): QuickJSOptions {
  return {
    ...limits,
    wasm: engine,
    maxStackSize: STACK_BYTES,
    // Weak references show when memory is collected, which is not the same each time that code runs.
    intrinsics: Intrinsics.ALL & ~Intrinsics.WEAK_REF,
    timezoneOffset: 0,
    wasi: (memory: { buffer: ArrayBuffer }) => ({
      clock_time_get(_clock: number, _precision: bigint, result: number): number {
        new DataView(memory.buffer).setBigUint64(result, BigInt(Math.trunc(now())) * 1_000_000n, true);
        return 0;
      },
      random_get(start: number, length: number): number {
        new Uint8Array(memory.buffer, start, length).fill(0);
        return 0;
      },
      // The engine itself has nothing to write, and code must not reach the worker's output.
      fd_write: (): number => 8,
    }),
  };
}
