import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { hasEndedAs } from '../../temporal/run-state.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** The pauses between two looks at the server, in milliseconds: short while there is news, long while there is none. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The pause while workers announce what they record: only announcements that got lost are found by looking. */
const ANNOUNCED_PAUSE_MS = 30_000;

/** The pause between an announcement and the question for what is new: the result of a quick tool is asked for together with its call. */
const GATHER_MS = 15;

/** The state of a run as the server has it. */
export interface RunNews {
  executionId: string;
  closed: boolean;
  /** True if the history has grown since the last look. */
  isNew: boolean;
}

/** Looks at the server for news of a run. That costs no worker anything. */
export class NewsOfRun {
  /** Milliseconds from an announcement to the question for what is new. */
  readonly gatherMs: number = GATHER_MS;
  readonly #client: Client;
  readonly #runId: string;
  #seen = '';
  #pauseMs = SHORTEST_PAUSE_MS;

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Returns the milliseconds until the next look. `announced`: workers announce what they record. */
  pauseMs(announced: boolean): number {
    return announced ? ANNOUNCED_PAUSE_MS : this.#pauseMs;
  }

  /** Looks at once. Throws `run_not_found`, and if the server does not answer. */
  async look(): Promise<RunNews> {
    const { historyLength, runId, status } = await this.#describe();
    const seen = `${runId}/${historyLength}`;
    const isNew = seen !== this.#seen;
    this.#seen = seen;
    this.#pauseMs = isNew ? SHORTEST_PAUSE_MS : Math.min(this.#pauseMs * 1.5, LONGEST_PAUSE_MS);
    return { executionId: runId, closed: hasEndedAs(status.name), isNew };
  }

  async #describe(): Promise<WorkflowExecutionDescription> {
    try {
      return await withoutMemos(this.#client).workflow.getHandle(this.#runId).describe();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(this.#client, this.#runId);
      throw error;
    }
  }
}
