import { toolsFor } from '../../../core/code/callers.ts';
import type { AgentSnapshot, ToolSnapshot } from '../../../core/domain/agent/agent-snapshot.ts';

/** Returns the instruction that describes the JSON format and the tools, which the provider is not told about. */
export function jsonInstructions(snapshot: AgentSnapshot): string {
  const { output } = snapshot;
  const callable = toolsFor('model', snapshot);
  return [
    'Reply with exactly one JSON object and no other text. It has one of these forms:',
    ...(callable.length === 0
      ? []
      : ['{"tool": "<name>", "arguments": {…}} calls a tool. The next message is its result: "Observation: …", or an error.']),
    `{"answer": …} gives the final answer${output === undefined ? ', as text' : ''}.`,
    '{"scratchpad": "<notes>"} only notes something. "scratchpad" may also stand beside "tool".',
    ...(output === undefined ? [] : ['', `The value of "answer" must match this JSON Schema: ${JSON.stringify(output.schema)}`]),
    ...(callable.length === 0 ? [] : ['', 'Tools, each with the JSON Schema of its arguments:', ...callable.map(toolLine)]),
  ].join('\n');
}

function toolLine({ name, description, schema }: ToolSnapshot): string {
  return `- ${name}: ${description}\n  ${JSON.stringify(schema)}`;
}
