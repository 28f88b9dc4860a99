import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import type { RunStatus } from '../src/domain/run-status.ts';
import { SEARCH_ATTRIBUTES } from '../src/protocol.ts';

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
const STATUS = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);

/**
 * Makes the run findable by agent and status. Only where the snapshot says that the namespace has the attributes:
 * upserting one that is missing fails every workflow task, and the run hangs.
 */
export function publishStatus(snapshot: AgentSnapshot, status: RunStatus): void {
  if (!snapshot.searchAttributes) return;
  upsertSearchAttributes([
    { key: AGENT, value: snapshot.name },
    { key: STATUS, value: status },
  ]);
}
