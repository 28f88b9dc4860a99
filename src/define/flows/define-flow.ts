import type { z } from 'zod';
import { DEFAULT_ITERATIONS, type FlowKind, type FlowPolicy } from '../../core/domain/agent.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { jsonSchemaOf } from '../../schema/zod-json-schema.ts';
import type { AgentDefinition, AnyAgent, OutputOf, UnfinishedOf } from '../agent-definition.ts';
import { nonEmpty, requireKnown, requireZod, wholeNumber } from '../options/option-checks.ts';
import { flowAgent } from './flow-agent.ts';
import { untilProblem } from './until-problem.ts';

/** The options of `defineFlow`. */
export interface FlowOptions<Agents extends readonly AnyAgent[], Kind extends FlowKind = FlowKind> {
  /** Names the flow for clients and the Temporal UI, as the name of an agent does. */
  name: string;
  /**
   * `sequential`: each agent acts once, in order. `loop`: after the last one, all act again. `parallel`: all act at the same time, each
   * as a child run with a conversation of its own.
   */
  kind: Kind;
  /** The agents, in order, each once. */
  agents: Agents;
  /** The rounds of a loop. Default 5. */
  maxIterations?: number;
  /** The schema of an answer that ends a loop at once, whichever agent gives it. */
  until?: z.ZodType;
}

/** A flow: it is started and registered like an agent. The output of a parallel one is text: that of each agent under its name. */
export type FlowDefinition<Agents extends readonly AnyAgent[] = readonly AnyAgent[], Kind extends FlowKind = FlowKind> = AgentDefinition<
  Kind extends 'parallel' ? string : OutputOf<Agents[number]>,
  never,
  unknown,
  never,
  Kind extends 'parallel' ? string : UnfinishedOf<Agents[number]>
>;

const FLOW_KINDS: readonly FlowKind[] = ['sequential', 'loop', 'parallel'];

const OPTIONS = ['name', 'kind', 'agents', 'maxIterations', 'until'];

/**
 * Defines a flow: agents that act one after the other in one run, over one conversation, or at the same time in runs of their own. It is
 * started like an agent, and a worker has it among its `agents`, with the agents that it names. Throws a `UsageError` for a flow that
 * cannot work.
 *
 * @example
 * const article = defineFlow({ name: 'article', kind: 'sequential', agents: [researcher, writer] });
 */
export function defineFlow<const Agents extends readonly AnyAgent[], const Kind extends FlowKind>(
  options: FlowOptions<Agents, Kind>,
): FlowDefinition<Agents, Kind> {
  const name = nonEmpty('the "name" of a flow', options.name);
  const owner = `flow ${JSON.stringify(name)}`;
  requireKnown(owner, options, OPTIONS);
  const agents = checkAgents(owner, options.agents);
  const flow = policyOf(owner, { ...options, name });
  return flowAgent(owner, flow, agents) as FlowDefinition<Agents, Kind>;
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
  if (!FLOW_KINDS.includes(kind)) {
    throw new UsageError(`${owner}: "kind" is ${JSON.stringify(kind)}: write "sequential", "loop" or "parallel"`);
  }
  if (kind !== 'loop' && (maxIterations !== undefined || until !== undefined)) {
    throw new UsageError(`${owner} is ${kind}, and "maxIterations" and "until" are for a loop: leave them out, or write "kind": "loop"`);
  }
  const condition = until === undefined ? undefined : conditionOf(owner, until);
  return {
    name,
    kind,
    agents: agents.map((agent) => agent.name),
    maxIterations: kind !== 'loop' ? 1 : wholeNumber(`${owner}: "maxIterations"`, maxIterations ?? DEFAULT_ITERATIONS, 1),
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
