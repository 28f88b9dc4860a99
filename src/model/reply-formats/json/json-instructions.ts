import { toolsFor } from '../../../core/code/callers.ts';
import { runCodeTool } from '../../../core/code/describe-run-code.ts';
import type { AgentSnapshot } from '../../../core/domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../../../core/domain/json/json.ts';

/** Returns the instruction that describes the JSON format and the tools, which the provider is not told about. */
export function jsonInstructions(snapshot: AgentSnapshot): string {
  const { output } = snapshot;
  const tools = toolLines(snapshot);
  return [
    'Reply with exactly one JSON object and no other text. It has one of these forms:',
    ...(tools.length === 0
      ? []
      : ['{"tool": "<name>", "arguments": {…}} calls a tool. The next message is its result: "Observation: …", or an error.']),
    `{"answer": …} gives the final answer${output === undefined ? ', as text' : ''}.`,
    '{"scratchpad": "<notes>"} only notes something. "scratchpad" may also stand beside "tool".',
    ...(output === undefined ? [] : ['', `The value of "answer" must match this JSON Schema: ${JSON.stringify(output.schema)}`]),
    ...(tools.length === 0 ? [] : ['', 'Tools, each with the JSON Schema of its arguments:', ...tools]),
  ].join('\n');
}

function toolLines(snapshot: AgentSnapshot): string[] {
  const runCode = runCodeTool(snapshot);
  return [
    ...toolsFor('model', snapshot).map(({ name, description, schema }) => toolLine(name, description, schema)),
    ...(runCode === undefined ? [] : [toolLine(runCode.name, runCode.description, runCode.parameters)]),
  ];
}

function toolLine(name: string, description: string, schema: JsonObject): string {
  return `- ${name}: ${description}\n  ${JSON.stringify(schema)}`;
}
