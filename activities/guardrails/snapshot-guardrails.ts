import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';

/** Returns the guardrails of an agent as they are pinned for a run. */
export function snapshotGuardrails({ guardrails = [] }: AnyAgent): Pick<AgentSnapshot, 'guardrails'> {
  if (guardrails.length === 0) return {};
  return {
    guardrails: guardrails.map(({ name, type, timeoutMs, failOpen }) => ({
      name,
      type,
      timeoutMs,
      ...(failOpen ? { failOpen: true as const } : {}),
    })),
  };
}
