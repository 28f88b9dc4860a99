import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import { importProblem } from './modules.ts';
import { NOWHERE_ELSE, type Parser } from './parser.ts';

const KEYWORD = 'import';
/** Times that a program with imports may have the word: each of them is parsed. */
const MAX_WORDS = 50;

/** Blank space and comments: each text matches in one way only, so that the work grows with its length. */
const TRIVIA = String.raw`(?:\s|\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/[^\n\r\u2028\u2029]*)*`;
const CALL = new RegExp(String.raw`^${TRIVIA}\(`, 'u');
const CALL_BY_NAME = new RegExp(String.raw`^${TRIVIA}\(${TRIVIA}(['"\x60])([^'"\x60\\$\n\r]*)\1${TRIVIA}\)`, 'u');
const META = new RegExp(String.raw`^${TRIVIA}\.`, 'u');

/** The names that a declaration gives to what it imports: between its keyword and its module. */
const CLAUSE = new RegExp(String.raw`^([\s\S]*?)\bfrom${TRIVIA}['"]`, 'u');
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

/** Explains why a program, which can be parsed, must not run: it imports, exports or requires what it may not, anywhere. */
export function importsProblem(
  parser: Parser,
  { code, isModule }: { code: string; isModule: boolean },
  allowed: readonly string[],
): ExecutionError | undefined {
  const message = isModule ? declarationsProblem(parser, code, allowed) : undefined;
  const problem = message ?? wordsProblem(parser, { code, isModule }, allowed);
  if (problem !== undefined) return { kind: 'import_not_allowed', message: problem };
  return parser.uses(code, 'require', isModule)
    ? { kind: 'import_not_allowed', message: 'require is not allowed: write import' }
    : undefined;
}

/** The names that the import declarations of a module declare. */
export function importedNames(parser: Parser, code: string): string[] {
  const names = keywords(parser, code, true).flatMap((rest) => {
    if (CALL.test(rest) || META.test(rest)) return [];
    const clause = CLAUSE.exec(rest)?.[1]?.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)|\/\/.*/gu, ' ') ?? '';
    // What is declared is the last name of each part: `a`, `a as b`, `* as c`.
    return clause.split(',').flatMap((part) => part.match(NAME)?.slice(-1) ?? []);
  });
  return [...new Set(names)];
}

function declarationsProblem(parser: Parser, code: string, allowed: readonly string[]): string | undefined {
  const imports = parser.imports(code);
  const refused = imports.map((name) => importProblem(name, allowed)).find((problem) => problem !== undefined);
  if (refused !== undefined) return refused;
  if (imports.length === 0) return 'import and export are not allowed: the code is not a module';
  return parser.uses(code, 'export', true) ? 'export is not allowed: the variables of the code are there for the next' : undefined;
}

function wordsProblem(
  parser: Parser,
  { code, isModule }: { code: string; isModule: boolean },
  allowed: readonly string[],
): string | undefined {
  if (!parser.uses(code, KEYWORD, isModule)) return undefined;
  if (allowed.length === 0) return 'import() is not allowed: the code has no modules';
  if (code.split(KEYWORD).length > MAX_WORDS + 1) return `import is not allowed in code that has the word more than ${MAX_WORDS} times`;
  for (const rest of keywords(parser, code, isModule)) {
    const name = CALL_BY_NAME.exec(rest)?.[2];
    const problem = name === undefined ? undefined : importProblem(name, allowed);
    if (problem !== undefined) return problem;
    if (name === undefined && CALL.test(rest)) return 'import() is not allowed unless its argument is the name of a module, as a text';
    if (META.test(rest)) return 'import.meta is not allowed';
  }
  return undefined;
}

/** The texts that follow the word where it is a keyword. */
function keywords(parser: Parser, code: string, isModule: boolean): string[] {
  const found: string[] = [];
  for (let index = code.indexOf(KEYWORD); index !== -1; index = code.indexOf(KEYWORD, index + 1)) {
    const rest = code.slice(index + KEYWORD.length);
    if (parser.failure(`${code.slice(0, index)}${NOWHERE_ELSE}${rest}`, isModule) !== undefined) found.push(rest);
  }
  return found;
}
