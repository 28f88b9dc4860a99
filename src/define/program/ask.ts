import { UsageError } from '../../core/domain/errors.ts';
import type { AskDocument } from '../../core/domain/program-document.ts';
import type { AnyTool } from '../tool-definition.ts';
import { type CommonOptions, makeStep, type ProgramStep, type SchemaOption, splitOptions, toJsonSchema } from './define-program.ts';
import { NO_USES } from './program-definition.ts';

/** The options of `ask`. */
export interface AskOptions extends CommonOptions, Omit<AskDocument, 'prompt' | 'output' | 'tools'> {
  /** The schema of the answer. Without it the answer is text. */
  output?: SchemaOption;
  /** Tools that the model may call before it answers: tools of `defineTool`, or names of tools that the worker has. */
  tools?: readonly (AnyTool | string)[];
}

/** Makes a step that asks a model: once, or with `tools` until it answers. Its output is the text of the answer, or the value that fits `output`. */
export function ask(name: string, prompt: string, options: AskOptions = {}): ProgramStep {
  const { output, tools, ...rest } = options;
  const { common, own } = splitOptions(rest);
  const body: AskDocument = {
    prompt,
    ...own,
    ...(output === undefined ? {} : { output: toJsonSchema(`step "${name}": output`, output) }),
    ...(tools === undefined ? {} : { tools: toolNames(name, tools) }),
  };
  const given = Array.isArray(tools) ? tools.filter((tool: AnyTool | string) => typeof tool !== 'string') : [];
  return makeStep(name, { kind: 'ask', body, common, uses: given.length === 0 ? [] : [{ ...NO_USES, tools: given }] });
}

/** Returns the names of tools. A value that is no list stays as it is, so that the check of the program finds it. */
function toolNames(name: string, tools: readonly (AnyTool | string)[]): string[] {
  return Array.isArray(tools) ? tools.map((tool: AnyTool | string) => definitionName(`step "${name}"`, 'tool', tool)) : (tools as string[]);
}

/** Returns the name of a definition, or the name that stands for it. Throws a UsageError that begins with `owner` for any other value. */
export function definitionName(
  owner: string,
  noun: 'tool' | 'agent' | 'program',
  definition: { kind: string; name: string } | string,
): string {
  if (typeof definition === 'string') return definition;
  if (definition?.kind === `longhaul.${noun}`) return definition.name;
  const article = noun === 'agent' ? 'an' : 'a';
  const make = `define${noun[0]?.toUpperCase()}${noun.slice(1)}`;
  throw new UsageError(`${owner} is given a value that is not ${article} ${noun}: make it with ${make}, or write its name`);
}
