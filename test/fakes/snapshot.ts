// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities, which a run of a snapshot has.
import '../../src/core/capabilities.ts';
import { buildSnapshot } from '../../activities/agents/build-snapshot.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { type AgentOptions, defineAgent } from '../../src/define/define-agent.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';

/** The snapshot of a defined agent, as the run's first activity makes it if the instructions are fixed. */
export function snapshotOf(agent: AnyAgent, capabilities = { structuredOutput: true }): AgentSnapshot {
  const instructions = typeof agent.instructions === 'string' ? [agent.instructions] : [];
  return buildSnapshot(agent, { instructions, capabilities, heartbeatMs: 5_000, searchAttributes: false });
}

/** The snapshot of an agent "bot" with the options that a test chooses. */
export function newSnapshot(options: Partial<AgentOptions<never, never>> = {}): AgentSnapshot {
  return snapshotOf(defineAgent({ name: 'bot', model: 'scripted/model', ...options }));
}
