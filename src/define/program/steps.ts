import { UsageError } from '../../core/domain/errors.ts';
import { defined, type JsonObject, type JsonValue } from '../../core/domain/json.ts';
import type {
  AgentStepDocument,
  AskDocument,
  ConditionDocument,
  ForEachDocument,
  HumanDocument,
  ProgramStepDocument,
  RecallDocument,
  RememberDocument,
  RepeatDocument,
  UnitDocument,
} from '../../core/domain/program-document.ts';
import type { Duration } from '../../core/domain/time.ts';
import type { AnyAgent } from '../agent-definition.ts';
import type { AnyTool } from '../tool-definition.ts';
import {
  type AnyStep,
  type BlockOptions,
  type CommonOptions,
  makeStep,
  type ProgramStep,
  type ProgramUnit,
  type SchemaOption,
  splitOptions,
  stepDocuments,
  toJsonSchema,
  usesOf,
} from './define-program.ts';
import { type AnyProgram, NO_USES } from './program-definition.ts';

/** The options of `unit`. */
export type UnitOptions = Omit<UnitDocument, 'name' | 'steps'>;

/** Makes a unit: steps with one persona, which run in order. */
export function unit(name: string, options: UnitOptions, steps: readonly AnyStep[]): ProgramUnit {
  return { kind: 'longhaul.unit', document: { name, ...options, steps: stepDocuments(steps) }, uses: usesOf(steps) };
}

/** The options of `agent`. */
export interface AgentStepOptions extends CommonOptions, Omit<AgentStepDocument, 'name' | 'input'> {}

/** The options of `program`. */
export interface ProgramStepOptions extends CommonOptions, Omit<ProgramStepDocument, 'name' | 'input'> {}

/** Makes a step that calls a tool: one made by `defineTool`, or the name of a tool of the worker. Its output is what the tool returns. */
export function tool(name: string, definition: AnyTool | string, args: JsonObject = {}, options: CommonOptions = {}): ProgramStep {
  const body = { name: definitionName(`step "${name}"`, 'tool', definition), arguments: args };
  const uses = typeof definition === 'string' ? [] : [{ ...NO_USES, tools: [definition] }];
  return makeStep(name, { kind: 'tool', body, common: options, uses });
}

/** Makes a step that runs an agent: one made by `defineAgent`, or the name of an agent of the worker. Its output is the agent's. */
export function agent(name: string, definition: AnyAgent | string, input: string, options: AgentStepOptions = {}): ProgramStep {
  const { common, own } = splitOptions(options);
  const body = { name: definitionName(`step "${name}"`, 'agent', definition), input, ...own };
  const uses = typeof definition === 'string' ? [] : [{ ...NO_USES, agents: [definition] }];
  return makeStep(name, { kind: 'agent', body, common, uses });
}

/** Makes a step that runs another program: one made by `defineProgram`, or the name of a program of the worker. Its output is the program's. */
export function program(
  name: string,
  definition: AnyProgram | string,
  input: JsonObject = {},
  options: ProgramStepOptions = {},
): ProgramStep {
  const { common, own } = splitOptions(options);
  const body = { name: definitionName(`step "${name}"`, 'program', definition), input, ...own };
  const uses = typeof definition === 'string' ? [] : [{ ...NO_USES, programs: [definition] }, definition];
  return makeStep(name, { kind: 'program', body, common, uses });
}

/** The options of `human`. */
export interface HumanOptions extends CommonOptions, Omit<HumanDocument, 'question' | 'output'> {
  /** The schema of the answer. Without it the answer is text. */
  output?: SchemaOption;
}

/** Makes a step that asks a person. Its output is the answer. */
export function human(name: string, question: string, options: HumanOptions = {}): ProgramStep {
  const { output, ...rest } = options;
  const { common, own } = splitOptions(rest);
  const schema = output === undefined ? {} : { output: toJsonSchema(`step "${name}": output`, output) };
  return makeStep(name, { kind: 'human', body: { question, ...own, ...schema }, common });
}

/** The options of `remember`. */
export interface RememberOptions extends CommonOptions, Omit<RememberDocument, 'key' | 'value'> {}

/** The options of `recall`. */
export interface RecallOptions extends CommonOptions, Omit<RecallDocument, 'query'> {}

/** Makes a step that stores a value in the memory of the worker. Its output is the key. */
export function remember(name: string, key: string, value: JsonValue, options: RememberOptions = {}): ProgramStep {
  const { common, own } = splitOptions(options);
  return makeStep(name, { kind: 'remember', body: { key, value, ...own }, common });
}

/** Makes a step that looks up values in the memory of the worker. Its output is the list of entries, best match first. */
export function recall(name: string, query: string, options: RecallOptions = {}): ProgramStep {
  const { common, own } = splitOptions(options);
  return makeStep(name, { kind: 'recall', body: { query, ...own }, common });
}

/** Makes a step that waits, for a duration or for the value of a reference such as `{{input.wait}}`. */
export function sleep(name: string, duration: Duration | `{{${string}}}`, options: CommonOptions = {}): ProgramStep {
  return makeStep(name, { kind: 'sleep', body: { for: duration as Duration }, common: options });
}

/** A case of `branch`. */
export interface BranchCase {
  /** The condition. */
  when: ConditionDocument;
  /** The steps that run if it holds. */
  steps: readonly AnyStep[];
}

/** The options of `branch`. */
export interface BranchOptions extends BlockOptions {
  /** The steps that run if no case holds. */
  else?: readonly AnyStep[];
}

/** The options of `forEach`. */
export interface ForEachOptions extends BlockOptions, Omit<ForEachDocument, 'in' | 'steps'> {}

/** The options of `repeat`. */
export interface RepeatOptions extends BlockOptions, Omit<RepeatDocument, 'steps'> {}

/** Makes a block of branches that run in parallel, each a list of steps. Its output is the list of the outputs of their last steps. */
export function parallel(name: string, branches: readonly (readonly AnyStep[])[], options: BlockOptions = {}): ProgramStep {
  const body = { branches: branches.map(stepDocuments) };
  return makeStep(name, { kind: 'parallel', body, common: options, uses: branches.flatMap(usesOf) });
}

/** Makes a block that runs the steps of the first case that holds. Its output is the output of the last executed step. */
export function branch(name: string, cases: readonly BranchCase[], options: BranchOptions = {}): ProgramStep {
  const { else: otherwise, ...common } = options;
  const body = {
    cases: cases.map(({ when, steps }) => ({ when, steps: stepDocuments(steps) })),
    ...(otherwise === undefined ? {} : { else: stepDocuments(otherwise) }),
  };
  const uses = [...cases.flatMap(({ steps }) => usesOf(steps)), ...usesOf(otherwise ?? [])];
  return makeStep(name, { kind: 'branch', body, common, uses });
}

/**
 * Makes a block that runs its steps for each item of a list, given by a reference such as `{{Find.documents}}`. Its output is the list
 * of the last step's output for each item.
 */
export function forEach(name: string, list: string, options: ForEachOptions, steps: readonly AnyStep[]): ProgramStep {
  const { common, own } = splitOptions(options);
  return makeStep(name, { kind: 'forEach', body: { in: list, ...own, steps: stepDocuments(steps) }, common, uses: usesOf(steps) });
}

/** Makes a block that repeats its steps until a condition holds. Its output is the output of the last step of the last round. */
export function repeat(name: string, options: RepeatOptions, steps: readonly AnyStep[]): ProgramStep {
  const { when, ...own } = options;
  const common = defined({ when });
  return makeStep(name, { kind: 'repeat', body: { ...own, steps: stepDocuments(steps) }, common, uses: usesOf(steps) });
}

/** The options of `ask`. */
export interface AskOptions extends CommonOptions, Omit<AskDocument, 'prompt' | 'output' | 'tools'> {
  /** The schema of the answer. Without it the answer is text. */
  output?: SchemaOption;
  /** Tools that the model may call before it answers: made by `defineTool`, or names of tools of the worker. */
  tools?: readonly (AnyTool | string)[];
}

/** Makes a step that asks a model: once, or with `tools` until it answers. Its output is the answer's text, or the value for `output`. */
export function ask(name: string, prompt: string, options: AskOptions = {}): ProgramStep {
  const { output, tools, ...rest } = options;
  const { common, own } = splitOptions(rest);
  const body: AskDocument = {
    prompt,
    ...own,
    ...(output === undefined ? {} : { output: toJsonSchema(`step "${name}": output`, output) }),
    ...(tools === undefined ? {} : { tools: toolNames(name, tools) }),
  };
  const given = Array.isArray(tools) ? tools.filter((one: AnyTool | string) => typeof one !== 'string') : [];
  return makeStep(name, { kind: 'ask', body, common, uses: given.length === 0 ? [] : [{ ...NO_USES, tools: given }] });
}

/** Returns the names of tools. A value that is not a list is left unchanged, for the check of the program to report. */
function toolNames(name: string, tools: readonly (AnyTool | string)[]): string[] {
  return Array.isArray(tools) ? tools.map((one: AnyTool | string) => definitionName(`step "${name}"`, 'tool', one)) : (tools as string[]);
}

/** Returns the name of a definition, or the name given in its place. Throws a UsageError that begins with `owner` for any other value. */
function definitionName(owner: string, noun: 'tool' | 'agent' | 'program', definition: { kind: string; name: string } | string): string {
  if (typeof definition === 'string') return definition;
  if (definition?.kind === `longhaul.${noun}`) return definition.name;
  const article = noun === 'agent' ? 'an' : 'a';
  const make = `define${noun[0]?.toUpperCase()}${noun.slice(1)}`;
  throw new UsageError(`${owner} is given a value that is not ${article} ${noun}: make it with ${make}, or write its name`);
}
