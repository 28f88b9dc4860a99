import { activityInfo, getClient } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import { EVENTS_QUERY, type LoopEvent, type Reference } from './protocol.ts';

/** The conversations of the runs in this process: the same method as Longhaul's, with only the parts that the bench needs. */
export class Transcripts {
  readonly #events = new LRUCache<string, LoopEvent[]>({ max: 1_000 });

  /** Returns the conversation of a call: from memory, from the input, or from the workflow. */
  async load(reference: Reference, fresh?: LoopEvent[]): Promise<LoopEvent[]> {
    const known = this.#events.get(runKey()) ?? fresh;
    if (known !== undefined && known[reference.through - 1]?.id === reference.lastId) return known.slice(0, reference.through);
    const { workflowExecution } = activityInfo();
    const handle = getClient().workflow.getHandle(workflowExecution?.workflowId ?? '', workflowExecution?.runId);
    const events = await handle.query<LoopEvent[], [number]>(EVENTS_QUERY, 0);
    return events.slice(0, reference.through);
  }

  /** Remembers an event that follows a conversation. */
  append(before: LoopEvent[], event: LoopEvent): void {
    this.#events.set(runKey(), [...before, event]);
  }

  /**
   * Like `append`, for a caller that has not loaded the conversation: nothing is remembered unless the conversation is in
   * memory.
   */
  appendTo({ through, lastId }: Reference, event: LoopEvent): void {
    const known = this.#events.get(runKey());
    if (known?.[through - 1]?.id === lastId) this.append(known.slice(0, through), event);
  }
}

function runKey(): string {
  const { workflowExecution } = activityInfo();
  return `${workflowExecution?.workflowId}/${workflowExecution?.runId}`;
}
