import type { ChildLimits, OwnLimits } from '../../src/core/domain/agent/agent-snapshot.ts';
import { plainLimits } from '../../src/core/domain/agent/limit-options.ts';
import type { RunLimits } from '../../src/core/domain/agent/limits.ts';
import { allSteps } from '../../src/core/domain/program/all-steps.ts';
import { DEFAULT_MODEL_CALLS, type ProgramDocument } from '../../src/core/domain/program/document.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';

/** The agents and programs of a worker. */
export interface ChildDefinitions {
  agents: readonly AnyAgent[];
  programs: readonly ProgramDocument[];
}

/**
 * Returns the limits of the agents and programs that steps of a program run; undefined if the program has no limit to share
 * with them. They say how much of a shared limit a child is given, and bind no child: another worker may know it with others.
 */
export function childLimits(program: ProgramDocument, limits: RunLimits, { agents, programs }: ChildDefinitions): ChildLimits | undefined {
  const { steps: most, finalAttempt: _, deadlineMs: __, onLimit: ___, ...others } = limits;
  if (most === DEFAULT_MODEL_CALLS && Object.keys(others).length === 0) return undefined;
  const steps = allSteps(program).map(({ step }) => step);
  const agentNames = new Set(steps.flatMap(({ agent }) => agent?.name ?? []));
  const programNames = new Set(steps.flatMap(({ program: called }) => called?.name ?? []));
  if (agentNames.size + programNames.size === 0) return undefined;
  const tools = Object.keys(limits.toolCallsByName ?? {});
  return {
    agents: Object.fromEntries(agents.filter(({ name }) => agentNames.has(name)).map((agent) => [agent.name, ofAgent(agent, tools)])),
    programs: Object.fromEntries(
      programs.filter(({ name }) => programNames.has(name)).map((one) => [one.name, withoutDeadline(ofProgram(one))]),
    ),
  };
}

/** Returns the limits of an agent. It needs no calls of the limited tools that it does not have. */
function ofAgent({ limits, tools, mcp = [] }: AnyAgent, limitedTools: readonly string[]): OwnLimits {
  const { finalAttempt, steps, ...others } = limits;
  const lacking = mcp.length > 0 ? [] : limitedTools.filter((tool) => tools.every(({ name }) => name !== tool));
  const byName = { ...others.toolCallsByName, ...Object.fromEntries(lacking.map((tool) => [tool, 0])) };
  return withoutDeadline({
    ...others,
    steps: steps + (finalAttempt ? 1 : 0),
    ...(Object.keys(byName).length === 0 ? {} : { toolCallsByName: byName }),
  });
}

function ofProgram({ name, limits = {}, onLimit }: ProgramDocument): OwnLimits {
  return { ...plainLimits(`program "${name}"`, limits), ...(onLimit === 'ask' ? { onLimit } : {}) };
}

function withoutDeadline({ deadlineMs: _, ...limits }: OwnLimits): OwnLimits {
  return limits;
}
