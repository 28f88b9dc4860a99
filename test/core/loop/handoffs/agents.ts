import { type AgentSnapshot, type ToolSnapshot, TRANSFER_TO_AGENT } from '../../../../src/core/domain/agent.ts';
import { transferTool } from '../../../../src/core/domain/handoffs.ts';
import type { ToolCall } from '../../../../src/core/domain/content.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { call } from '../fakes/fake-ports.ts';
import { testSnapshot } from '../fakes/snapshot.ts';

/** An agent that hands over to others. */
export function agentTo(name: string, targets: readonly string[], more: Partial<AgentSnapshot> = {}, max = 10): AgentSnapshot {
  const transfer: ToolSnapshot[] = targets.length === 0 ? [] : [transferTool(targets.map((target) => ({ name: target })))];
  return testSnapshot({
    name,
    digest: `digest of ${name}`,
    ...(targets.length === 0 ? {} : { handoffs: { agents: [...targets], max } }),
    ...more,
    tools: [...(more.tools ?? []), ...transfer],
  });
}

let calls = 0;

/** A call that hands over. */
export function to(agent: string): ToolCall {
  return call(`transfer-${(calls += 1)}`, TRANSFER_TO_AGENT, { agent });
}

/** The texts of results. */
export function textOf(outcome: ToolOutcome | undefined): unknown {
  return outcome?.type === 'result' ? outcome.content[0] : undefined;
}
