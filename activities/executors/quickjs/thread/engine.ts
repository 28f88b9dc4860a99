import { EvalFlags, Intrinsics, JSException, QuickJS, type QuickJSOptions, type Snapshot } from 'quickjs-wasi';
import type { ExecutionError } from '../../../../src/core/domain/execution.ts';

/** The compiled engine, as the executor sends it. */
export type EngineModule = object;

/** Bytes of the engine's stack that code may use. The thread's own stack of 16 MB never overflows first. */
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

/** Creates a context with its own memory, in which the time is always `now()`, in UTC, and nothing is random. */
export function createContext(options: EngineOptions): Promise<QuickJS> {
  return QuickJS.create(engineOptions(options));
}

/** Creates a context from another context's memory, which must have had the same options. */
export function restoreContext(snapshot: Snapshot, options: EngineOptions): Promise<QuickJS> {
  return QuickJS.restore(snapshot, engineOptions(options));
}

function engineOptions({ engine, now, ...limits }: EngineOptions): QuickJSOptions {
  return {
    ...limits,
    wasm: engine,
    maxStackSize: STACK_BYTES,
    // Weak references reveal garbage collection, which differs between runs of the same code.
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
      // The engine itself writes nothing, and code must not reach the worker's output.
      fd_write: (): number => 8,
    }),
  };
}

/**
 * A word that QuickJS only accepts as a member name and in texts, comments and regular expressions. If it replaces another word and the
 * code can still be parsed, that word occurs only in these places.
 */
export const NOWHERE_ELSE = 'enum';

/** Enough for the largest code that a frame may have. */
const MEMORY_BYTES = 32 * 1_048_576;
/** Bytes after which the next cell gets a new context: the engine keeps all parsed modules. */
const RENEWED_AT_BYTES = 4 * 1_048_576;

/** A context that only parses code and never runs it, so that nothing can have changed it. */
export class Parser {
  private readonly engine: EngineModule;
  private context: QuickJS;
  /** The modules that the currently parsed code wants to load. */
  private readonly wanted: string[];

  private constructor(engine: EngineModule, context: QuickJS, wanted: string[]) {
    this.engine = engine;
    this.context = context;
    this.wanted = wanted;
  }

  static async create(engine: EngineModule): Promise<Parser> {
    const wanted: string[] = [];
    return new Parser(engine, await parsingContext(engine, wanted), wanted);
  }

  /** The version of the engine. */
  get version(): string {
    return Object.entries(this.context.versions).join();
  }

  /** Frees the memory of what was parsed. */
  async renew(): Promise<void> {
    if (this.context.getMemoryUsage().mallocSize < RENEWED_AT_BYTES) return;
    this.context.dispose();
    this.context = await parsingContext(this.engine, this.wanted);
  }

  /** Returns why a text cannot be parsed, as a script or as a module. */
  failure(code: string, isModule = false): ExecutionError | undefined {
    const thrown = this.parse(code, isModule);
    return thrown === undefined ? undefined : { kind: isOutOfMemory(thrown) ? 'memory' : 'syntax', message: described(thrown) };
  }

  /** Returns the modules that a module's declarations import; none if it cannot be parsed. */
  imports(module: string): string[] {
    this.wanted.length = 0;
    this.parse(module, true);
    return [...this.wanted];
  }

  /** True if parsable code uses a word as anything but text or a member name. */
  uses(code: string, word: string, isModule: boolean): boolean {
    return code.includes(word) && this.failure(code.replaceAll(word, NOWHERE_ELSE), isModule) !== undefined;
  }

  /** Returns the line where parsing fails; undefined if it does not. */
  failedLine(code: string, isModule: boolean): number | undefined {
    return lineOf(this.parse(code, isModule));
  }

  private parse(code: string, isModule: boolean): JSException | undefined {
    try {
      this.context.evalCode(code, FILE_NAME, (isModule ? EvalFlags.TYPE_MODULE : EvalFlags.ASYNC) | EvalFlags.COMPILE_ONLY).dispose();
      return undefined;
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      error.dispose();
      return error;
    }
  }
}

function parsingContext(engine: EngineModule, wanted: string[]): Promise<QuickJS> {
  const normalize = (_base: string, name: string): string => {
    wanted.push(name);
    return name;
  };
  return createContext({ engine, memoryLimit: MEMORY_BYTES, now: () => 0, moduleLoader: { normalize, load: () => '' } });
}

function isOutOfMemory(thrown: JSException): boolean {
  return thrown.name === 'InternalError' || thrown.name === '<null>';
}

function lineOf(thrown: JSException | undefined): number | undefined {
  const [, line] = /code:(\d+):\d+/.exec(thrown?.stack ?? '') ?? [];
  return line === undefined ? undefined : Number(line);
}

function described(thrown: JSException): string {
  const line = lineOf(thrown);
  return `${thrown.name}: ${thrown.message}${line === undefined ? '' : ` (line ${line})`}`;
}
