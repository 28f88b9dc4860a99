import { z } from 'zod';
import { canonicalJson, type JsonValue } from '../../core/domain/json/json.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyTool } from '../../define/tools/tool-definition.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { component } from '../schemas/component.ts';
import { jsonObject } from '../schemas/json.ts';
import { startable } from './agents.ts';
import { ok } from './route-parts.ts';

const toolEntry = component(
  'ToolEntry',
  z.object({
    name: z.string(),
    version: z.string().exactOptional(),
    description: z.string(),
    category: z.string().exactOptional().describe('The kind of effect that it has, for rules of permissions.'),
    parameters: jsonObject.describe('The JSON Schema of the arguments.'),
    agents: z.array(z.string()).describe('The agents that have it, of those that the caller may start.'),
  }),
);

const list = defineRoute(
  {
    method: 'GET',
    path: '/v1/tools',
    id: 'listTools',
    tag: 'agents',
    summary: 'List the tools of the agents that the service knows and the caller may start',
    description:
      'Tools that differ in anything are entries of their own, also if they have one name. Tools of MCP servers are known only to the runs that have them.',
    scope: 'runs:read',
    responses: ok(component('Tools', z.object({ tools: z.array(toolEntry) })), 'The tools, by their names.'),
    problems: [],
  },
  async ({ caller, settings }) => ({ status: 200, body: { tools: toolsOf(startable(settings.agents, caller)) } }),
);

type ToolEntry = z.input<typeof toolEntry>;

function toolsOf(agents: readonly AnyAgent[]): ToolEntry[] {
  const entries = new Map<string, ToolEntry>();
  for (const { name, tools } of agents) {
    for (const tool of tools) {
      const described = describe(tool);
      const key = canonicalJson(described as JsonValue);
      const known = entries.get(key);
      if (known === undefined) entries.set(key, { ...described, agents: [name] });
      else known.agents.push(name);
    }
  }
  return [...entries.values()].toSorted((one, other) => compare(one.name, other.name) || compare(one.version ?? '', other.version ?? ''));
}

function describe({ name, version, description, category, schema }: AnyTool): Omit<ToolEntry, 'agents'> {
  return {
    name,
    ...(version === undefined ? {} : { version }),
    description,
    ...(category === undefined ? {} : { category }),
    parameters: schema,
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** The routes of tools. */
export const TOOL_ROUTES: readonly Route[] = [list];
