import { EvalFlags, JSException, type QuickJS } from 'quickjs-wasi';
import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import { createContext, type EngineModule, FILE_NAME } from './engine.ts';

/**
 * A word that QuickJS accepts as the name of a member and in texts, comments and regular expressions, and nowhere else. Code in
 * which it stands for another word can be parsed if that word is used in these places only.
 */
export const NOWHERE_ELSE = 'enum';

/** Enough for the largest code that a frame may have. */
const MEMORY_BYTES = 32 * 1_048_576;
/** Bytes after which the next cell gets a new context: the engine keeps all modules that it has parsed. */
const RENEWED_AT_BYTES = 4 * 1_048_576;

/** A context in which code is parsed and never run, so that nothing can have changed it. */
export class Parser {
  private readonly engine: EngineModule;
  private context: QuickJS;
  /** The modules that the code that is being parsed wants to load. */
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

  /** Explains why a text cannot be parsed, as a script or as a module. */
  failure(code: string, isModule = false): ExecutionError | undefined {
    const thrown = this.parse(code, isModule);
    return thrown === undefined ? undefined : { kind: isOutOfMemory(thrown) ? 'memory' : 'syntax', message: described(thrown) };
  }

  /** The modules that a module imports in its declarations; none if it cannot be parsed. */
  imports(module: string): string[] {
    this.wanted.length = 0;
    this.parse(module, true);
    return [...this.wanted];
  }

  /** True if code, which can be parsed, has a word as something else than a text or the name of a member. */
  uses(code: string, word: string, isModule: boolean): boolean {
    return code.includes(word) && this.failure(code.replaceAll(word, NOWHERE_ELSE), isModule) !== undefined;
  }

  /** The line at which parsing fails; undefined if it does not. */
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
