import { EvalFlags, JSException, type QuickJS } from 'quickjs-wasi';
import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import { RESERVED_WORDS } from '../reserved-words.ts';
import { createContext, FILE_NAME } from './engine.ts';

/** A name in code: the parser decides which of them are declared. */
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

const DECLARATION = /\b(?:let|const|var|class|function)\s*\*?\s*([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)/gu;

/**
 * A word that QuickJS accepts as the name of a member and in texts, comments and regular expressions, and nowhere else. Code in
 * which it stands for another word can be parsed if that word is used in these places only.
 */
const NOWHERE_ELSE = 'enum';

/** Enough for the largest code that a frame may have. */
const MEMORY_BYTES = 32 * 1_048_576;

/** A context in which code is parsed and never run, so that nothing can have changed it. */
export class Parser {
  private readonly context: QuickJS;
  /** The modules that the code that is being parsed wants to load. */
  private readonly wanted: string[];

  private constructor(context: QuickJS, wanted: string[]) {
    this.context = context;
    this.wanted = wanted;
  }

  static async create(): Promise<Parser> {
    const wanted: string[] = [];
    const load = (name: string): string => {
      wanted.push(name);
      return '';
    };
    return new Parser(await createContext({ memoryLimit: MEMORY_BYTES, now: () => 0, moduleLoader: { load } }), wanted);
  }

  /** Explains why code must not run: it cannot be parsed, or it imports, exports or requires, anywhere. */
  problem(code: string): ExecutionError | undefined {
    const error = this.failure(code);
    if (error !== undefined) return this.importsAsModule(code) ?? error;
    if (this.uses(code, 'import')) return notAllowed('import() is not allowed: the code has no modules');
    if (this.uses(code, 'require')) return notAllowed('require is not allowed: the code has no modules');
    return undefined;
  }

  /** The names that code declares at its top level, in their order. The code can be parsed. */
  declaredNames(code: string): string[] {
    const declared = this.plainlyDeclared(code);
    let candidates = [...new Set(code.match(NAME))].filter((name) => !RESERVED_WORDS.has(name) && !declared.includes(name));
    let firstLine: number | undefined;
    // A second declaration of a name is an error, and the parser stops at the first: its line says which name it is.
    for (;;) {
      const line = this.failedLine(`${code}\n;${candidates.map((name) => `\nlet ${name};`).join('')}`);
      if (line === undefined) return declared;
      // The parser has line ends of its own: it says on which line the first of these declarations is.
      firstLine ??= this.failedLine(`${code}\n;\n@`) ?? line;
      const name = candidates[line - firstLine];
      if (name === undefined) return declared;
      declared.push(name);
      candidates = candidates.slice(line - firstLine + 1);
    }
  }

  /** The names that follow the word of a declaration, if the parser confirms all of them: what can be exported is declared. */
  private plainlyDeclared(code: string): string[] {
    const names = [...new Set([...code.matchAll(DECLARATION)].map(([, name = '']) => name))].filter((name) => !RESERVED_WORDS.has(name));
    const thrown = this.parse(`${code}\n;export {${names.join()}};`, EvalFlags.TYPE_MODULE);
    return thrown === undefined ? names : [];
  }

  /** Explains why a script cannot be parsed. */
  failure(code: string): ExecutionError | undefined {
    const thrown = this.parse(code, EvalFlags.ASYNC);
    return thrown === undefined ? undefined : { kind: isOutOfMemory(thrown) ? 'memory' : 'syntax', message: described(thrown) };
  }

  /** Code that is a module and no script imports or exports. */
  private importsAsModule(code: string): ExecutionError | undefined {
    this.wanted.length = 0;
    const thrown = this.parse(code, EvalFlags.TYPE_MODULE);
    const [name] = this.wanted;
    if (name !== undefined) return notAllowed(`Import "${name.slice(0, 200)}" is not allowed: the code has no modules`);
    return thrown === undefined ? notAllowed('import and export are not allowed: the code is not a module') : undefined;
  }

  private uses(code: string, word: string): boolean {
    return code.includes(word) && this.failure(code.replaceAll(word, NOWHERE_ELSE)) !== undefined;
  }

  private failedLine(code: string): number | undefined {
    const [, line] = /code:(\d+):\d+/.exec(this.parse(code, EvalFlags.ASYNC)?.stack ?? '') ?? [];
    return line === undefined ? undefined : Number(line);
  }

  private parse(code: string, flags: number): JSException | undefined {
    try {
      this.context.evalCode(code, FILE_NAME, flags | EvalFlags.COMPILE_ONLY).dispose();
      return undefined;
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      error.dispose();
      return error;
    }
  }
}

function notAllowed(message: string): ExecutionError {
  return { kind: 'import_not_allowed', message };
}

function isOutOfMemory(thrown: JSException): boolean {
  return thrown.name === 'InternalError' || thrown.name === '<null>';
}

function described(thrown: JSException): string {
  const [, line] = /code:(\d+):\d+/.exec(thrown.stack ?? '') ?? [];
  return `${thrown.name}: ${thrown.message}${line === undefined ? '' : ` (line ${line})`}`;
}
