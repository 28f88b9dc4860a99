import { z } from 'zod';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { Caller } from '../auth/caller.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { component } from '../schemas/component.ts';
import { jsonObject } from '../schemas/json.ts';
import { ok } from './route-parts.ts';

const agentEntry = component(
  'AgentEntry',
  z.object({
    name: z.string(),
    description: z.string().exactOptional(),
    deps: jsonObject.exactOptional().describe('The JSON Schema of the deps that a start takes.'),
    output: jsonObject.exactOptional().describe('The JSON Schema of the output. Absent: text.'),
    tools: z.array(z.object({ name: z.string(), version: z.string().exactOptional(), description: z.string() })),
  }),
);

const list = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents',
    id: 'listAgents',
    tag: 'agents',
    summary: 'List the agents that the service knows and the caller may start',
    scope: 'runs:read',
    responses: ok(component('Agents', z.object({ agents: z.array(agentEntry) })), 'The agents.'),
    problems: [],
  },
  async ({ caller, settings }) => ({ status: 200, body: { agents: startable(settings.agents, caller).map(entryOf) } }),
);

const one = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents/{agent}',
    id: 'getAgent',
    tag: 'agents',
    summary: 'Read about an agent that the service knows',
    scope: 'runs:read',
    params: z.object({ agent: z.string().min(1).describe('The name of the agent.') }),
    responses: ok(agentEntry, 'The agent.'),
    problems: ['agent_not_found'],
  },
  async ({ params, caller, settings }) => {
    const found = startable(settings.agents, caller).find(({ name }) => name === params.agent);
    if (found !== undefined) return { status: 200, body: entryOf(found) };
    throw new LonghaulError('agent_not_found', `The service knows no agent "${params.agent}" that this caller may start`);
  },
);

/** Returns the agents that a caller may start. */
export function startable(agents: readonly AnyAgent[], { agents: allowed }: Caller): AnyAgent[] {
  return agents.filter(({ name }) => allowed === undefined || allowed.includes(name));
}

function entryOf({ name, description, depsSchema, output, tools }: AnyAgent): z.input<typeof agentEntry> {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(depsSchema === undefined ? {} : { deps: depsSchema }),
    ...(output === undefined ? {} : { output: output.schema }),
    tools: tools.map((tool) => ({
      name: tool.name,
      ...(tool.version === undefined ? {} : { version: tool.version }),
      description: tool.description,
    })),
  };
}

/** The routes of agents. */
export const AGENT_ROUTES: readonly Route[] = [list, one];
