import type { RunApprovals } from '../../src/client/executions.ts';
import type { ApprovalView, Decision } from '../../src/core/domain/approvals.ts';

/** The time of all events in these tests. */
export const AT = '2026-01-02T03:04:05.000Z';

/** A pending call of `refund`. */
export function waiting(fields: Partial<ApprovalView> = {}): ApprovalView {
  const callId = fields.callId ?? 'c1';
  return {
    kind: 'tool',
    callId,
    toolName: 'refund',
    digest: `digest of ${callId}`,
    key: `event/${callId}`,
    step: 2,
    requestedAt: AT,
    arguments: { amount: 5 },
    ...fields,
  };
}

/** The answer of the run `clerk-1` to the query for its approvals. */
export function runApprovals(pending: ApprovalView[], fields: Partial<RunApprovals> = {}): RunApprovals {
  return {
    version: 1,
    runId: 'clerk-1',
    agentName: 'clerk',
    about: { agentName: 'clerk', user: 'ada', question: 'Where is order 42?' },
    status: 'pending_confirmation',
    pending,
    remembered: [],
    ...fields,
  };
}

/** A decision on the call `c1` of `refund`. */
export function decision(fields: Partial<Decision> = {}): Decision {
  return {
    id: 'd1',
    type: 'approve',
    callId: 'c1',
    toolName: 'refund',
    digest: 'digest of c1',
    by: 'ann',
    source: 'update',
    at: AT,
    ...fields,
  };
}
