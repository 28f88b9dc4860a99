import type { z } from 'zod';
import { DEFAULT_ITERATIONS, type FlowPolicy } from '../../core/domain/flows/flow-policy.ts';
import type { JsonObject } from '../../core/domain/json/json.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { jsonSchemaOf } from '../../schema/zod-json-schema.ts';
import type { AgentDefinition, AnyAgent, OutputOf, UnfinishedOf } from '../agent-definition.ts';
import { nonEmpty, requireKnown, requireZod, wholeNumber } from '../options/option-checks.ts';
import { flowLimits } from './flow-limits.ts';
import { untilProblem } from './until-problem.ts';

/** The options of `defineFlow`. */
export interface FlowOptions<Agents extends readonly AnyAgent[]> {
  /** Names the flow for clients and the Temporal UI, as the name of an agent does. */
  name: string;
  /** `sequential`: each agent acts once, in order. `loop`: after the last one, all act again. */
  kind: 'sequential' | 'loop';
  /** The agents, in order, each once. */
  agents: Agents;
  /** The rounds of a loop. Default 5. */
  maxIterations?: number;
  /** The schema of an answer that ends a loop at once, whichever agent gives it. */
  until?: z.ZodType;
}

/** A flow: it is started and registered like an agent. */
export type FlowDefinition<Agents extends readonly AnyAgent[] = readonly AnyAgent[]> = AgentDefinition<
  OutputOf<Agents[number]>,
  never,
  unknown,
  never,
  UnfinishedOf<Agents[number]>
>;

const OPTIONS = ['name', 'kind', 'agents', 'maxIterations', 'until'];

/**
 * Defines a flow: agents that act one after the other in one run, over one conversation. It is started like an agent, and a worker has it
 * among its `agents`, with the agents that it names. Throws a `UsageError` for a flow that cannot work.
 *
 * @example
 * const article = defineFlow({ name: 'article', kind: 'sequential', agents: [researcher, writer] });
 */
export function defineFlow<const Agents extends readonly AnyAgent[]>(options: FlowOptions<Agents>): FlowDefinition<Agents> {
  const name = nonEmpty('the "name" of a flow', options.name);
  const owner = `flow ${JSON.stringify(name)}`;
  requireKnown(owner, options, OPTIONS);
  const agents = checkAgents(owner, options.agents);
  const flow = policyOf(owner, { ...options, name });
  const [first] = agents;
  if (first === undefined) throw new UsageError(`${owner} has no agents: name those that act, in order`);
  const { description: _, deps: __, depsSchema: ___, output: ____, handoffs: _____, ...rest } = first;
  const defined: AnyAgent = {
    ...rest,
    name,
    tools: agents.flatMap(({ tools }) => tools),
    flow,
    flowAgents: agents,
    limits: flowLimits(agents, flow.maxIterations),
  };
  return defined as FlowDefinition<Agents>;
}

function checkAgents(owner: string, agents: readonly AnyAgent[]): readonly AnyAgent[] {
  if (!Array.isArray(agents)) throw new UsageError(`${owner}: "agents" is not a list: write [researcher, writer]`);
  const names = new Set<string>();
  for (const agent of agents as readonly AnyAgent[]) {
    if (agent?.kind !== 'longhaul.agent')
      throw new UsageError(`${owner}: "agents" has a value that is not an agent: make it with defineAgent`);
    if (agent.flow !== undefined) throw new UsageError(`${owner}: "agents" names "${agent.name}", which is a flow: name agents`);
    if (names.has(agent.name)) throw new UsageError(`${owner}: "agents" names "${agent.name}" twice: name each agent once`);
    names.add(agent.name);
  }
  return agents;
}

function policyOf(owner: string, { name, kind, agents, maxIterations, until }: FlowOptions<readonly AnyAgent[]>): FlowPolicy {
  if (kind !== 'sequential' && kind !== 'loop') {
    throw new UsageError(
      `${owner}: "kind" is ${JSON.stringify(kind)}: write "sequential" or "loop"; agents run side by side by parallel of "longhaul/workflow"`,
    );
  }
  if (kind === 'sequential' && (maxIterations !== undefined || until !== undefined)) {
    throw new UsageError(`${owner} is sequential, and "maxIterations" and "until" are for a loop: leave them out, or write "kind": "loop"`);
  }
  const condition = until === undefined ? undefined : conditionOf(owner, until);
  return {
    name,
    kind,
    agents: agents.map((agent) => agent.name),
    maxIterations: kind === 'sequential' ? 1 : wholeNumber(`${owner}: "maxIterations"`, maxIterations ?? DEFAULT_ITERATIONS, 1),
    ...(condition === undefined ? {} : { until: condition }),
  };
}

function conditionOf(owner: string, until: z.ZodType): JsonObject {
  requireZod(`${owner}: "until"`, until);
  const schema = jsonSchemaOf(until, `${owner}: until`);
  const problem = untilProblem(schema);
  if (problem === undefined) return schema;
  throw new UsageError(`${owner}: ${problem}`);
}
