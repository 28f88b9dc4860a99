import type { JsonValue } from './json.ts';

/** The name of the tool through which a structured answer comes where the provider cannot enforce a schema. */
export const FINAL_ANSWER = 'final_answer';

/** What a call is answered with that never ran because the run was interrupted (seed 002). */
export const INTERRUPTED_CALL = 'Tool call was interrupted and not executed. Please retry if needed.';

/** What a call to a tool is answered with that the agent does not have (seed 001). */
export function unknownTool(name: string): string {
  return `Tool '${name}' not found in agent's tool list`;
}

/** A tool result as text (seed 001): values joined by line breaks, those that are not text as JSON. */
export function resultText(content: JsonValue[]): string {
  return content.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
}
