import type { JsonObject } from '../../core/domain/json.ts';
import type { AgentStepDocument, ProgramStepDocument } from '../../core/domain/program-document.ts';
import type { AnyAgent } from '../agent-definition.ts';
import type { AnyTool } from '../tools/tool-definition.ts';
import { definitionName } from './definition-name.ts';
import type { AnyProgram } from './program-definition.ts';
import { type CommonOptions, makeStep, type ProgramStep, splitOptions } from './program-step.ts';
import { NO_USES } from './program-uses.ts';

/** The options of `agent`. */
export interface AgentStepOptions extends CommonOptions, Omit<AgentStepDocument, 'name' | 'input'> {}

/** The options of `program`. */
export interface ProgramStepOptions extends CommonOptions, Omit<ProgramStepDocument, 'name' | 'input'> {}

/** Makes a step that calls a tool: a tool of `defineTool`, or the name of one that the worker has. Its output is what the tool returns. */
export function tool(name: string, definition: AnyTool | string, args: JsonObject = {}, options: CommonOptions = {}): ProgramStep {
  const body = { name: definitionName(`step "${name}"`, 'tool', definition), arguments: args };
  const uses = typeof definition === 'string' ? [] : [{ ...NO_USES, tools: [definition] }];
  return makeStep(name, { kind: 'tool', body, common: options, uses });
}

/** Makes a step that runs an agent: an agent of `defineAgent`, or the name of one that the worker has. Its output is that of the agent. */
export function agent(name: string, definition: AnyAgent | string, input: string, options: AgentStepOptions = {}): ProgramStep {
  const { common, own } = splitOptions(options);
  const body = { name: definitionName(`step "${name}"`, 'agent', definition), input, ...own };
  const uses = typeof definition === 'string' ? [] : [{ ...NO_USES, agents: [definition] }];
  return makeStep(name, { kind: 'agent', body, common, uses });
}

/** Makes a step that runs another program: one of `defineProgram`, or the name of one that the worker has. Its output is that of the program. */
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
