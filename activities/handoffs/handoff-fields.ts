import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { DEFAULT_MAX_HANDOFFS } from '../../src/core/domain/handoffs/handoff-policy.ts';
import { type TransferTarget, transferTool } from '../../src/core/domain/handoffs/transfer-tool.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';

/** The part of the snapshot of an agent that lets it hand over. */
export interface HandoffFields {
  fields: Pick<AgentSnapshot, 'handoffs'>;
  tools: ToolSnapshot[];
}

/** Returns the part of a snapshot that lets the agent hand over to these agents: empty if there are none. */
export function handoffFields(
  { maxHandoffs: max = DEFAULT_MAX_HANDOFFS }: AnyAgent,
  targets: readonly TransferTarget[] = [],
): HandoffFields {
  if (targets.length === 0) return { fields: {}, tools: [] };
  return { fields: { handoffs: { agents: targets.map(({ name }) => name), max } }, tools: [transferTool(targets)] };
}
