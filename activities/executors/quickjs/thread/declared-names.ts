import { RESERVED_WORDS } from '../reserved-words.ts';
import { importedNames } from './imports.ts';
import type { Parser } from './parser.ts';

/** A name in code: the parser decides which of them are declared. */
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

const DECLARATION = /\b(?:let|const|var|class|function)(?:\s+|\s*\*\s*)([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)/gu;

/** The names that code declares at its top level. The code can be parsed. */
export function declaredNames(parser: Parser, code: string, isModule = false): string[] {
  const declared = plainlyDeclared(parser, code, isModule);
  let candidates = [...new Set(code.match(NAME))].filter((name) => !RESERVED_WORDS.has(name) && !declared.includes(name));
  let firstLine: number | undefined;
  // A second declaration of a name is an error, and the parser stops at the first: its line says which name it is.
  for (;;) {
    const line = parser.failedLine(`${code}\n;${candidates.map((name) => `\nlet ${name};`).join('')}`, isModule);
    if (line === undefined) return declared;
    // The parser has line ends of its own: it says on which line the first of these declarations is.
    firstLine ??= parser.failedLine(`${code}\n;\n@`, isModule) ?? line;
    const name = candidates[line - firstLine];
    if (name === undefined) return declared;
    declared.push(name);
    candidates = candidates.slice(line - firstLine + 1);
  }
}

/** The names that follow the word of a declaration, if the parser confirms all of them: what can be exported is declared. */
function plainlyDeclared(parser: Parser, code: string, isModule: boolean): string[] {
  const imported = isModule ? importedNames(parser, code) : [];
  const found = [...imported, ...[...code.matchAll(DECLARATION)].map(([, name = '']) => name)];
  const names = [...new Set(found)].filter((name) => !RESERVED_WORDS.has(name));
  if (areDeclared(parser, code, names)) return names;
  return imported.filter((name) => areDeclared(parser, code, [name]));
}

function areDeclared(parser: Parser, code: string, names: readonly string[]): boolean {
  return parser.failure(`${code}\n;export {${names.join()}};`, true) === undefined;
}
