import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../core/domain/json.ts';
import { mapSubschemas, requiredOf } from '../../../core/json-schema/json-schema.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { jsonSchemaOf } from '../../../schema/zod-schemas.ts';

/** An agent as a tool of the MCP server. */
export interface AgentTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
  /** The schema of the structured answer. Absent: the agent answers with text. */
  outputSchema?: JsonObject;
  agent: AnyAgent;
}

/** The longest name that model providers take for a tool. */
const LONGEST_NAME = 64;

const INPUT: JsonObject = { type: 'string', minLength: 1, description: 'The task, with everything that the agent needs to know for it.' };

/** Returns the tools of a service. Every instance of it with the same agents has the same names. */
export function agentTools(agents: readonly AnyAgent[]): AgentTool[] {
  const plain = agents.map(({ name }) => plainName(name));
  return agents.map((agent, index) => {
    const name = plain[index] ?? '';
    const isTaken = name === '' || plain.indexOf(name) !== plain.lastIndexOf(name);
    return toolOf(agent, isTaken ? distinctName(name, agent.name) : name);
  });
}

/** Returns a name in the characters that clients and model providers take: any other becomes `_`. */
function plainName(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_').slice(0, LONGEST_NAME);
}

function distinctName(plain: string, name: string): string {
  const digits = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - digits.length - 1)}_${digits}`;
}

function toolOf(agent: AnyAgent, name: string): AgentTool {
  const { description = `Gives a task to the agent "${agent.name}" and returns its answer.`, output } = agent;
  const outputSchema = output === undefined ? {} : { outputSchema: jsonSchemaOf(output.zod, `agent "${agent.name}": output`, 'output') };
  return { name, description, inputSchema: inputSchemaOf(agent), ...outputSchema, agent };
}

function inputSchemaOf({ depsSchema }: AnyAgent): JsonObject {
  if (depsSchema === undefined) return { type: 'object', properties: { input: INPUT }, required: ['input'], additionalProperties: false };
  const deps = { description: 'The data that the agent works with.', ...withReferencesBelow(depsSchema, '/properties/deps') };
  const required = requiredOf(depsSchema).length > 0 ? ['input', 'deps'] : ['input'];
  return { type: 'object', properties: { input: INPUT, deps }, required, additionalProperties: false };
}

/** Returns a schema for a place inside another one: its references lead to that place, such as `/properties/deps`. */
function withReferencesBelow(schema: JsonObject, place: string): JsonObject {
  const { $ref, ...rest } = mapSubschemas(schema, (inner) => withReferencesBelow(inner, place));
  if (typeof $ref !== 'string') return rest;
  return { ...rest, $ref: $ref.startsWith('#') ? `#${place}${$ref.slice(1)}` : $ref };
}
