import { UsageError } from '../../src/core/domain/errors/error.ts';
import { didYouMean } from '../../src/core/domain/errors/nearest-name.ts';
import { canonicalJson } from '../../src/core/domain/json/json.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { shareProblem } from '../../src/define/children/share-problem.ts';
import { withSubAgents } from '../../src/define/children/sub-agents.ts';

/**
 * Returns the agents of a worker with those that their tools run. Throws a UsageError with the path for a tool that runs an unknown
 * agent, shares deps that the agent does not have, or is final with an answer of another form; and for agents that run each other.
 */
export function checkedAgents(agents: readonly AnyAgent[]): AnyAgent[] {
  const all = withSubAgents(agents);
  const byName = new Map(all.map((agent) => [agent.name, agent]));
  for (const agent of all) {
    for (const { name, agent: below } of agent.tools) {
      if (below === undefined) continue;
      const path = `agents.${agent.name}.tools.${name}`;
      const found = byName.get(below.name);
      if (found === undefined) throw unknown(`${path}.agent`, below.name, [...byName.keys()]);
      if (below.kept && found.flow !== undefined)
        throw new UsageError(`${path}.kept: "${found.name}" is a flow, which ends with its answer: only an agent is kept between calls`);
      // The agents of a parallel flow get all deps, which are checked when a run of it starts.
      const problem = below.branch ? undefined : shareProblem(found, below.share);
      if (problem !== undefined) throw new UsageError(`${path}.share: ${problem}`);
      if (below.final && !hasFormOf(agent, found)) {
        throw new UsageError(
          `${path}.final: agent "${found.name}" answers in another form than "output" of agent "${agent.name}": give both the same schema`,
        );
      }
    }
  }
  const cycle = cycleIn(byName);
  if (cycle !== undefined)
    throw new UsageError(`agents: ${cycle.map((name) => `"${name}"`).join(' runs ')}: agents must not run each other in a circle`);
  return all;
}

function unknown(path: string, name: string, known: string[]): UsageError {
  const names = known.map((one) => `"${one}"`).join(', ');
  return new UsageError(`${path}: this worker has no agent "${name}" (it has: ${names})${didYouMean(name, known)}: add it to "agents"`);
}

/** True if answers of an agent have the form that those of another one must have. */
function hasFormOf({ output }: AnyAgent, { output: below }: AnyAgent): boolean {
  if (output === undefined) return true;
  return below !== undefined && canonicalJson(output.schema) === canonicalJson(below.schema);
}

/** Returns the names of agents that run each other, the first one again at the end; undefined if there are none. */
function cycleIn(agents: ReadonlyMap<string, AnyAgent>): string[] | undefined {
  const done = new Set<string>();
  const visit = (name: string, above: readonly string[]): string[] | undefined => {
    if (above.includes(name)) return [...above.slice(above.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const { agent } of agents.get(name)?.tools ?? []) {
      const cycle = agent === undefined ? undefined : visit(agent.name, [...above, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of agents.keys()) {
    const cycle = visit(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
