import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import { depsProblem } from '../src/domain/deps-problem.ts';
import { errorMessage, LonghaulError } from '../src/domain/error.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import { parseDeps } from '../src/define/parse-deps.ts';
import { type DataView, QUERIES, type ResolveAgentInput } from '../src/protocol.ts';
import { buildSnapshot } from './build-snapshot.ts';
import { checkSnapshotSize } from './check-snapshot-size.ts';
import { failingAs } from './failure.ts';
import { queryRun } from './run-access.ts';
import type { ActivityRuntime } from './runtime.ts';

/** The run's first activity: the agent by name, its instructions for these deps, as the snapshot that the run is pinned to. */
export function resolveAgentActivity(runtime: ActivityRuntime): (input: ResolveAgentInput) => Promise<AgentSnapshot> {
  return failingAs('invalid_agent', async (input) => {
    const agent = runtime.registry.agent(input.agent);
    const given = input.depsByReference ? (await queryRun<DataView>(input, QUERIES.data, null)).deps : (input.deps ?? {});
    // The client refuses these before the start; runs that start another way come here.
    const problem = depsProblem(given);
    if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
    const searchAttributes = await runtime.searchAttributes();
    const snapshot = buildSnapshot(agent, {
      instructions: await resolveInstructions(agent, parseDeps(agent, given)),
      capabilities: runtime.registry.provider(agent.model).capabilities,
      heartbeatMs: runtime.heartbeatMs,
      searchAttributes: searchAttributes.agentAndStatus,
      waitingForAttribute: searchAttributes.waitingFor,
      maxIterations: input.maxIterations,
      ...(input.limits === undefined ? {} : { limits: input.limits }),
      authorize: runtime.authorize !== undefined,
      notify: runtime.notify !== undefined,
      prices: runtime.prices,
      continueAsNew: runtime.continueAsNew,
      archive: runtime.archive !== undefined,
      upgradeOnContinueAsNew: runtime.upgradeOnContinueAsNew,
    });
    checkSnapshotSize(snapshot);
    runtime.snapshots.add(snapshot);
    return snapshot;
  });
}

async function resolveInstructions(agent: AnyAgent, deps: unknown): Promise<string[]> {
  const { instructions } = agent;
  if (typeof instructions !== 'function') return asList(instructions);
  try {
    return asList(await instructions(deps as never));
  } catch (error) {
    throw new LonghaulError('invalid_agent', `The instructions of agent "${agent.name}" failed: ${errorMessage(error)}`);
  }
}

function asList(instructions: string | readonly string[]): string[] {
  return typeof instructions === 'string' ? [instructions] : [...instructions];
}
