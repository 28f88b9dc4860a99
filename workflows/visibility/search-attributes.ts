import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { RunStatus } from '../../src/core/domain/run/run-status.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { SEARCH_ATTRIBUTES } from '../../src/core/protocol.ts';

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
const STATUS = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);
const TAG = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tag, SearchAttributeType.KEYWORD_LIST);
const WAITING_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitingFor, SearchAttributeType.KEYWORD_LIST);

/** The status that the execution before has left in the search attributes: the server carries them on. */
export function shownStatus(): string | undefined {
  return workflowInfo().typedSearchAttributes.get(STATUS);
}

/** Lists of words: what the run waits for, where that has changed, and its tags. */
type Lists = { key: typeof WAITING_FOR; value: string[] }[];

/**
 * Makes the run findable by agent, status and what it waits for, and knows what it has published: each change is an
 * event of history. Only what the snapshot says that the namespace has: upserting an attribute that is missing fails
 * every workflow task, and the run hangs.
 */
export class Published {
  #status: RunStatus | undefined;
  #waitingFor: string | undefined;

  /** `continued`: what the execution before has published is not known. */
  constructor(continued: boolean) {
    this.#status = continued ? undefined : 'running';
    this.#waitingFor = continued ? undefined : '';
  }

  /** Publishes a run whose agent is known. The server carries its tags on by itself. */
  begun(snapshot: AgentSnapshot): void {
    const { tags = [], tagAttribute, searchAttributes } = snapshot;
    const tagged: Lists = tagAttribute ? [{ key: TAG, value: tags }] : [];
    if (searchAttributes) this.#publish(snapshot, 'running', tagged);
    else if (tagAttribute) upsertSearchAttributes(tagged);
  }

  /** Publishes agent and status. */
  status(snapshot: AgentSnapshot, status: RunStatus): void {
    this.#publish(snapshot, status, this.#waiting(snapshot, []));
  }

  /** Publishes what has changed since the last time. */
  show({ snapshot, status, approvals }: RunState): void {
    const names = approvals.pending.map(({ toolName }) => toolName);
    const waiting = this.#waiting(snapshot, names);
    if (status !== this.#status || waiting.length > 0) this.#publish(snapshot, status, waiting);
  }

  #publish(snapshot: AgentSnapshot, status: RunStatus, lists: Lists): void {
    this.#status = status;
    if (!snapshot.searchAttributes) return;
    upsertSearchAttributes([{ key: AGENT, value: snapshot.name }, { key: STATUS, value: status }, ...lists]);
  }

  /** One entry for each tool: the list in the Temporal UI says what, not how often. */
  #waiting({ waitingForAttribute }: AgentSnapshot, names: string[]): Lists {
    const value = [...new Set(names)].toSorted();
    const shown = value.join('\n');
    if (!waitingForAttribute || shown === this.#waitingFor) return [];
    this.#waitingFor = shown;
    return [{ key: WAITING_FOR, value }];
  }
}
