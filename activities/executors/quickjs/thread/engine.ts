import { readFile } from 'node:fs/promises';
import { QuickJS, type QuickJSOptions } from 'quickjs-wasi';

/** Bytes of the engine's stack that code may use. The thread has 16 MB: its own stack never overflows first. */
const STACK_BYTES = 384 * 1024;

/** The text of the file name in positions of errors. */
export const FILE_NAME = 'code';

/** The part of WebAssembly that is needed here: Node has it, and its types lack it. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<QuickJSOptions['wasm']> };

let compiled: ReturnType<typeof WebAssembly.compile> | undefined;

/** Makes a context of its own memory, in which the time is always `now()`, in UTC, and nothing is random. */
export async function createContext(
  options: Pick<QuickJSOptions, 'interruptHandler' | 'moduleLoader'> & { memoryLimit: number; now: () => number },
): Promise<QuickJS> {
  const { now, ...limits } = options;
  compiled ??= readFile(new URL(import.meta.resolve('quickjs-wasi/quickjs.wasm'))).then((bytes) => WebAssembly.compile(bytes));
  return QuickJS.create({
    ...limits,
    wasm: await compiled,
    maxStackSize: STACK_BYTES,
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
  });
}
