import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { errorMessage, UsageError } from '../../../core/domain/errors.ts';
import type { Problem } from '../../../core/program/check/problems.ts';
import { isCompiledProgram } from '../../../define/program/from-compiled-program.ts';
import { type AgentsModule, loadAgentsModule } from '../../serve/agents-module.ts';
import type { Terminal } from '../../terminal.ts';
import { textOrStdin } from '../stdin-text.ts';

/** The programs of a file: one document of a JSON file, or those that a module exports. */
export interface ProgramFile {
  /** The name of the file, for messages. */
  label: string;
  documents: unknown[];
  /** The module, if the file is one. */
  module?: AgentsModule;
}

/** The function that reads compiled programs of AXON. */
const CONVERT = 'fromCompiledProgram(json, { model }) of "longhaul/program" (docs/axon.md)';

const MODULES = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs'];

/** Reads a file of programs, or a document from stdin. Throws a UsageError that says what is wrong with the file. */
export async function readProgramFile(path: string, terminal: Pick<Terminal, 'stdin' | 'signal'>): Promise<ProgramFile> {
  if (extname(path) === '.axon') {
    const compile = `compile it with AXON, convert the compiled program with ${CONVERT}, and check the result`;
    throw new UsageError(`"${path}" is source text of AXON, which Longhaul does not compile: ${compile}`);
  }
  if (!MODULES.includes(extname(path))) {
    const document = await readJson(path, 'program', terminal);
    if (!isCompiledProgram(document)) return { label: labelOf(path), documents: [document] };
    throw new UsageError(`The program in "${path}" is one that AXON has compiled: convert it with ${CONVERT}, and check the result`);
  }
  const module = await loadAgentsModule(path);
  if (module.programs.length > 0) return { label: basename(path), documents: module.programs.map((one) => one.toJSON()), module };
  throw new UsageError(
    `The module "${path}" exports no programs: write export const programs = [...], with programs made by defineProgram`,
  );
}

/** Reads a JSON file, or stdin for "-". Throws a UsageError that names what the file is for. */
export async function readJson(path: string, noun: string, terminal: Pick<Terminal, 'stdin' | 'signal'>): Promise<unknown> {
  const text = path === '-' ? await textOrStdin(path, terminal) : await readText(path, noun);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`The ${noun} in ${path === '-' ? 'stdin' : `"${path}"`} is not JSON: ${errorMessage(error)}`, { cause: error });
  }
}

async function readText(path: string, noun: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`The ${noun} "${path}" cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns the problems because of which a module could not define a program; undefined for any other error. */
export function problemsOfDefinition(error: unknown): readonly Problem[] | undefined {
  for (let cause: unknown = error; typeof cause === 'object' && cause !== null; cause = 'cause' in cause ? cause.cause : undefined) {
    if ('problems' in cause && Array.isArray(cause.problems)) return cause.problems as Problem[];
  }
  return undefined;
}

function labelOf(path: string): string {
  return path === '-' ? 'stdin' : basename(path);
}
