import type { ApprovalRequirement } from '../../../../src/core/domain/approvals.ts';
import type { ToolCall } from '../../../../src/core/domain/content.ts';
import type { ModelCallOutcome } from '../../../../src/core/kernel/ports.ts';
import { responded } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

/** Tools whose calls need no approval, always need it, or need it if a predicate requires it; calls of the last never overlap. */
export const approvalTools = [
  testTool('free'),
  testTool('paid', { approval: { when: 'always' } }),
  testTool('maybe', { approval: { when: 'predicate' } }),
  testTool('lonely', { parallel: false }),
];

/** An agent with these tools. */
export const approvalAgent = testSnapshot({ tools: approvalTools });

/** A model response with tool calls, some of which need a decision according to the activity. */
export function asks(terms: Record<string, Partial<ApprovalRequirement>>, ...calls: ToolCall[]): ModelCallOutcome {
  const approvals = Object.entries(terms).map(([id, more]) => [id, { digest: `of ${id}`, ...more }]);
  return responded(calls, { approvals: Object.fromEntries(approvals) });
}
