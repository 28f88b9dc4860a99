import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { toolOwner } from '../../src/core/domain/agent/tool-owner.ts';
import { type GuardrailSnapshot, guardrailsOf, type GuardrailType } from '../../src/core/domain/guardrails/guardrail.ts';
import type { AnyGuardrail } from '../../src/define/guardrails/guardrail-definition.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** A guardrail of a run as it is pinned, and as this worker has it. */
export interface PinnedGuardrail {
  pinned: GuardrailSnapshot;
  guardrail: AnyGuardrail;
}

/**
 * Returns the guardrails of a type that a run has. Throws `unknown_guardrail` if this worker lacks one, or has another type of it:
 * another worker may have it.
 */
export function pinnedGuardrails({ registry }: ActivityRuntime, snapshot: AgentSnapshot, type: GuardrailType): PinnedGuardrail[] {
  const owner = toolOwner(snapshot);
  return guardrailsOf(snapshot, type).map((pinned) => {
    const guardrail = registry.guardrail(owner, pinned);
    if (guardrail === undefined) throw registry.missingGuardrail(owner, pinned);
    return { pinned, guardrail };
  });
}
