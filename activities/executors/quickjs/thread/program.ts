import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import { declaredNames } from './declared-names.ts';
import { importsProblem } from './imports.ts';
import type { Parser } from './parser.ts';

/** A cell as the engine runs it: a function, or a module if it has declarations of imports. Both hand their variables over at the end. */
export interface Program {
  source: string;
  /** The name by which the module exports its variables; absent for a function. */
  exported?: string;
}

/** Reads a cell. Its code has not begun when it is refused. */
export function readProgram(parser: Parser, code: string, allowedImports: readonly string[]): ExecutionError | Program {
  const error = parser.failure(code);
  const isModule = error !== undefined && (parser.failure(code, true) === undefined || parser.imports(code).length > 0);
  if (error !== undefined && !isModule) return error;
  const problem = importsProblem(parser, { code, isModule }, allowedImports);
  if (problem !== undefined) return problem;
  const program = programOf(code, declaredNames(parser, code, isModule), isModule);
  return parser.failure(program.source, isModule) ?? program;
}

function programOf(code: string, names: readonly string[], isModule: boolean): Program {
  let handOver = 'handOver';
  while (code.includes(handOver)) handOver += '$';
  const members = names.map((name) => `get ${name}(){return ${name}},set ${name}(value$${name}){${name}=value$${name}}`).join();
  return isModule
    ? { source: `${code}\n;export const ${handOver} = {${members}};`, exported: handOver }
    : { source: `(async (${handOver}) => {${code}\n;${handOver}({${members}})})` };
}
