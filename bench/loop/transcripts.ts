import { activityInfo, getClient } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import { EVENTS_QUERY, type LoopEvent, type Reference } from './protocol.ts';

/** The conversations of the runs of this process: the same idea as Longhaul's, with nothing that the bench does not need. */
export class Transcripts {
  readonly #events = new LRUCache<string, LoopEvent[]>({ max: 1_000 });

  /** The conversation that is meant: from memory, from what came with the call, or from the workflow. */
  async load(reference: Reference, fresh?: LoopEvent[]): Promise<LoopEvent[]> {
    const known = this.#events.get(runKey()) ?? fresh;
    if (known !== undefined && known[reference.through - 1]?.id === reference.lastId) return known.slice(0, reference.through);
    const { workflowExecution } = activityInfo();
    const handle = getClient().workflow.getHandle(workflowExecution?.workflowId ?? '', workflowExecution?.runId);
    const events = await handle.query<LoopEvent[], [number]>(EVENTS_QUERY, 0);
    return events.slice(0, reference.through);
  }

  /** Remembers an event behind the conversation that it follows. */
  append(before: LoopEvent[], event: LoopEvent): void {
    this.#events.set(runKey(), [...before, event]);
  }

  /** As `append`, for who has not loaded the conversation: nothing is remembered unless it is here. */
  appendTo({ through, lastId }: Reference, event: LoopEvent): void {
    const known = this.#events.get(runKey());
    if (known?.[through - 1]?.id === lastId) this.append(known.slice(0, through), event);
  }
}

function runKey(): string {
  const { workflowExecution } = activityInfo();
  return `${workflowExecution?.workflowId}/${workflowExecution?.runId}`;
}
