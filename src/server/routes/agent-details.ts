import { z } from 'zod';
import { agentModels } from '../../core/domain/agent.ts';
import { LonghaulError } from '../../core/domain/errors.ts';
import { defined, type JsonObject } from '../../core/domain/json.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import { mayStart } from '../auth/caller.ts';
import { nearestStartable } from '../requests.ts';
import { defineRoute, ok, type Route } from '../route.ts';
import { component, jsonObject } from '../schemas/values.ts';

const agentDetails = component(
  'AgentDetails',
  z.object({
    name: z.string(),
    description: z.string().exactOptional(),
    deps: jsonObject.exactOptional().describe('The JSON Schema of the deps that a start takes.'),
    output: jsonObject.exactOptional().describe('The JSON Schema of the output. Absent: text.'),
    models: z.array(z.string()).describe('`provider/model`, in the order in which they are called.'),
    instructions: z.array(z.string()).exactOptional().describe('Absent: a function makes them for each run.'),
    settings: jsonObject.describe('The settings of model calls.'),
    limits: jsonObject.describe('The limits of a run that names no others.'),
    tools: z.array(
      z.object({
        name: z.string(),
        version: z.string().exactOptional(),
        description: z.string(),
        category: z.string().exactOptional().describe('The kind of effect that it has.'),
        parameters: jsonObject.describe('The JSON Schema of the arguments.'),
        approval: z.enum(['always', 'predicate']).exactOptional().describe('When its calls wait for a decision. Absent: never, by itself.'),
        agent: z.string().exactOptional().describe('The agent that it runs.'),
      }),
    ),
    hosted: z.array(z.string()).describe('The tools that its providers run by themselves.'),
    mcp: z.array(z.string()).describe('The MCP servers whose tools it also has. Only its runs know these.'),
    handoffs: z.array(z.string()).describe('The agents that it may hand a run over to.'),
    flow: jsonObject.exactOptional().describe('The order of agents, if it is a flow.'),
    agents: z
      .array(z.string())
      .describe('The agents that it leads to: those of its tools, its handoffs and its flow. Each of them may lead to more.'),
  }),
);

/** Reads about one agent. A caller that may not start it does not learn that there is one. */
const showAgentRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents/{agent}',
    id: 'getAgent',
    tag: 'agents',
    summary: 'Read about an agent that the service knows',
    scope: 'runs:read',
    params: z.object({ agent: z.string().min(1).describe('The name of the agent.') }),
    responses: ok(agentDetails, 'The agent.'),
    problems: ['agent_not_found'],
  },
  async ({ params, caller, settings }) => {
    const found = mayStart(caller, params.agent) ? settings.agents.find(({ name }) => name === params.agent) : undefined;
    if (found !== undefined) return { status: 200, body: detailsOf(found) };
    const hint = nearestStartable(settings.agents, caller, params.agent);
    throw new LonghaulError('agent_not_found', `The service knows no agent "${params.agent}" that this caller may start${hint}`);
  },
);

function detailsOf(agent: AnyAgent): z.input<typeof agentDetails> {
  const { name, description, depsSchema, output, instructions, settings, limits, tools, flow } = agent;
  const { hosted = [], mcp = [], handoffs = [], flowAgents = [] } = agent;
  const ofTools = tools.flatMap((tool) => (tool.agent === undefined ? [] : [tool.agent.name]));
  const below = new Set([...ofTools, ...handoffs.map((one) => one.name), ...flowAgents.map((one) => one.name), ...(flow?.agents ?? [])]);
  return {
    name,
    ...defined({ description, deps: depsSchema, output: output?.schema }),
    models: agentModels(agent),
    ...(typeof instructions === 'function' ? {} : { instructions: typeof instructions === 'string' ? [instructions] : [...instructions] }),
    settings: plain(settings),
    limits: plain(limits),
    tools: tools.map((tool) => ({
      name: tool.name,
      ...defined({ version: tool.version }),
      description: tool.description,
      ...defined({ category: tool.category }),
      parameters: tool.schema,
      ...(tool.approval === undefined ? {} : { approval: tool.approval.when === 'always' ? 'always' : 'predicate' }),
      ...defined({ agent: tool.agent?.name }),
    })),
    hosted: hosted.map((tool) => tool.name),
    mcp: mcp.map((server) => server.name),
    handoffs: handoffs.map((one) => one.name),
    ...(flow === undefined ? {} : { flow: plain(flow) }),
    agents: [...below].filter((one) => one !== name),
  };
}

/** Returns an object as JSON has it. */
function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

const programDetails = component(
  'ProgramDetails',
  z.object({
    name: z.string(),
    units: z.array(z.string()),
    input: jsonObject.exactOptional().describe('The JSON Schema of the input.'),
    document: jsonObject.describe('The whole program: docs/programs.md describes its members.'),
  }),
);

const showProgramRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/programs/{program}',
    id: 'getProgram',
    tag: 'programs',
    summary: 'Read a program that the service knows, with its document',
    scope: 'runs:read',
    params: z.object({ program: z.string().min(1).describe('The name of the program.') }),
    responses: ok(programDetails, 'The program.'),
    problems: ['program_not_found'],
  },
  async ({ params, caller, settings }) => {
    const found = mayStart(caller, params.program) ? settings.programs.find(({ name }) => name === params.program) : undefined;
    if (found === undefined) {
      const hint = nearestStartable(settings.programs, caller, params.program);
      throw new LonghaulError('program_not_found', `The service knows no program "${params.program}" that this caller may start${hint}`);
    }
    const { name, document } = found;
    const { input, units } = document;
    return { status: 200, body: { name, units: units.map((unit) => unit.name), ...defined({ input }), document: plain(document) } };
  },
);

export const AGENT_DETAIL_ROUTES: readonly Route[] = [showAgentRoute, showProgramRoute];
