import type { ActivityOptions } from '@temporalio/common';
import { activityProblem } from '../src/activity-outcome.ts';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import type { ErrorCode } from '../src/domain/error.ts';
import { oneLine } from '../src/domain/text.ts';
import { ACTIVITIES, type ResolveAgentInput, type RunInput } from '../src/protocol.ts';
import { fits, ofRun } from '../src/calls/activity-call.ts';
import type { LiveRun } from './live-run.ts';
import { begin } from './perform.ts';

/** Resolving an agent is quick; a worker that does not know it must not be asked for ever. */
const RESOLVE: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '7 days',
  retry: { maximumAttempts: 5, initialInterval: '1s', backoffCoefficient: 2 },
};

/** What became of an agent's name. */
export type Resolved =
  | { type: 'resolved'; snapshot: AgentSnapshot }
  | { type: 'cancelled' }
  | { type: 'failed'; code: ErrorCode; message: string };

/** Asks a worker for the agent, as it is pinned for the whole run. */
export async function resolveAgent(run: LiveRun, input: RunInput): Promise<Resolved> {
  const asked: ResolveAgentInput = {
    ...ofRun(run),
    agent: input.agent,
    ...(input.maxIterations === undefined ? {} : { maxIterations: input.maxIterations }),
    ...(input.limits === undefined ? {} : { limits: input.limits }),
    ...(input.deps === undefined ? {} : fits(input.deps) ? { deps: input.deps } : { depsByReference: true }),
  };
  try {
    const options = { ...RESOLVE, summary: oneLine(`resolve agent ${input.agent}`, 200) };
    const call = { name: ACTIVITIES.resolveAgent, tier: 'remote' as const, options, input: asked };
    return { type: 'resolved', snapshot: await begin<ResolveAgentInput, AgentSnapshot>(call) };
  } catch (error) {
    const problem = activityProblem(error);
    switch (problem.type) {
      case 'cancelled':
        return { type: 'cancelled' };
      case 'timed_out':
        return { type: 'failed', code: 'invalid_agent', message: `Agent "${input.agent}" could not be resolved: ${problem.message}` };
      case 'failed':
        return { type: 'failed', code: problem.code ?? 'invalid_agent', message: problem.message };
    }
  }
}
