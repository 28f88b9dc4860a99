import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';

/** The exports of a module of agents that concern programs, as a worker takes them. */
export interface ProgramParts extends Pick<CreateWorkerOptions, 'memory'> {
  programs: readonly AnyProgram[];
  /** Tools that the steps of documents may name. Those of the programs are not among them. */
  tools: NonNullable<CreateWorkerOptions['tools']>;
  anchors: NonNullable<CreateWorkerOptions['anchors']>;
}

type Tool = ProgramParts['tools'][number];
type Anchor = ProgramParts['anchors'][number];
type Memory = NonNullable<ProgramParts['memory']>;

/**
 * Reads the parts of programs. Programs are found under any name, like agents. Tools and anchors are those of the lists with these
 * names alone, because the documents of every client may name them.
 */
export function readProgramParts(path: string, exported: Record<string, unknown>): ProgramParts {
  const memory = memoryIn(path, exported['memory']);
  return {
    programs: programsIn(path, exported),
    tools: listIn(path, exported, { name: 'tools', isElement: isTool, element: 'a tool', made: 'defineTool' }) ?? [],
    anchors: listIn(path, exported, { name: 'anchors', isElement: isAnchor, element: 'an anchor', made: 'defineAnchor' }) ?? [],
    ...(memory === undefined ? {} : { memory }),
  };
}

function programsIn(path: string, exported: Record<string, unknown>): readonly AnyProgram[] {
  const listed = listIn(path, exported, { name: 'programs', isElement: isProgram, element: 'a program', made: 'defineProgram' });
  return listed ?? [...new Set(Object.values(exported).flat().filter(isProgram))];
}

/** An export that is a list of definitions of one kind. */
interface ListExport<Element> {
  name: string;
  isElement: (value: unknown) => value is Element;
  element: string;
  /** The name of the function that makes one. */
  made: string;
}

function listIn<Element>(
  path: string,
  exported: Record<string, unknown>,
  { name, isElement, element, made }: ListExport<Element>,
): Element[] | undefined {
  const listed = exported[name];
  if (listed === undefined) return undefined;
  if (!Array.isArray(listed)) {
    throw new UsageError(`"${name}" of the agents module "${path}" is not a list: write export const ${name} = [...]`);
  }
  const wrong = listed.findIndex((one) => !isElement(one));
  if (wrong < 0) return listed;
  throw new UsageError(`"${name}[${wrong}]" of the agents module "${path}" is not ${element}: make it with ${made}`);
}

/** True for a program. It is recognised by its `kind`, like an agent: the module may use another copy of this package. */
function isProgram(value: unknown): value is AnyProgram {
  return isObject(value) && value['kind'] === 'longhaul.program';
}

function isTool(value: unknown): value is Tool {
  return isObject(value) && value['kind'] === 'longhaul.tool';
}

function isAnchor(value: unknown): value is Anchor {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['check'] === 'function';
}

function memoryIn(path: string, memory: unknown): Memory | undefined {
  if (memory === undefined || isMemory(memory)) return memory;
  throw new UsageError(`"memory" of the agents module "${path}" is not a memory: write export const memory = sqliteMemory({ file })`);
}

function isMemory(value: unknown): value is Memory {
  return isObject(value) && ['remember', 'recall', 'forget', 'list'].every((name) => typeof value[name] === 'function');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
