import type { AgentSnapshot } from '../domain/agent.ts';
import type { ToolCall } from '../domain/content.ts';
import { unknownTool } from '../domain/tool-calls.ts';
import type { CodeCall } from '../domain/execution.ts';
import { readArguments } from '../json-schema/read-by-schema.ts';
import { toolsFor } from './callers.ts';
import { codeCallId } from './code-call-ids.ts';

/** The place of calls in a run. */
export interface CodeCallPlace {
  snapshot: Pick<AgentSnapshot, 'tools' | 'permissions'>;
  /** The id of the call of `run_code`. */
  callId: string;
  /** The number of calls that the cell has made before. */
  before: number;
}

/** Calls of code as they are recorded, with the reasons why some of them must not run, by the ids of the calls. */
export interface CheckedCodeCalls {
  calls: ToolCall[];
  problems?: Record<string, string>;
}

/**
 * Turns calls of code into tool calls, named, identified and checked like those of a model. A call that must not run has a
 * problem, which the code gets as an error.
 */
export function checkCodeCalls(codeCalls: readonly CodeCall[], { snapshot, callId, before }: CodeCallPlace): CheckedCodeCalls {
  const tools = new Map(toolsFor('code', snapshot).map((tool) => [tool.name, tool]));
  const problems: [id: string, problem: string][] = [];
  const calls = codeCalls.map(({ tool: name, arguments: given }, index): ToolCall => {
    const toolCallId = codeCallId(callId, before + index + 1);
    const tool = tools.get(name);
    // A signature in Python has None for an argument that may be left out.
    const { args, problem } = tool === undefined ? { args: given, problem: unknownTool(name) } : readArguments(tool, given);
    if (problem !== undefined) problems.push([toolCallId, problem]);
    return { type: 'tool_call', toolCallId, name, arguments: args };
  });
  return { calls, ...(problems.length === 0 ? {} : { problems: Object.fromEntries(problems) }) };
}
