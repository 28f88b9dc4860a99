import type { ApprovalRequirement } from '../../../../src/core/domain/approvals/approval.ts';
import type { ToolCall } from '../../../../src/core/domain/content/content.ts';
import type { ModelCallOutcome } from '../../../../src/core/loop/ports.ts';
import { responded } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

/** Tools whose calls wait never, always, or where a predicate says so; the last never overlaps with another. */
export const askingTools = [
  testTool('free'),
  testTool('paid', { approval: { when: 'always' } }),
  testTool('maybe', { approval: { when: 'predicate' } }),
  testTool('lonely', { parallel: false }),
];

/** An agent with those tools. */
export const askingAgent = testSnapshot({ tools: askingTools });

/** The model calls tools, of which the activity has found that some need a decision. */
export function asks(terms: Record<string, Partial<ApprovalRequirement>>, ...calls: ToolCall[]): ModelCallOutcome {
  const approvals = Object.entries(terms).map(([id, more]) => [id, { digest: `of ${id}`, ...more }]);
  return responded(calls, { approvals: Object.fromEntries(approvals) });
}
