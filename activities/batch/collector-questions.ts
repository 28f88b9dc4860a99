import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallPlace } from '../../src/core/domain/batch.ts';
import { isInstance } from '../../src/core/domain/errors.ts';
import { COLLECTOR_QUERIES } from '../../src/core/protocol.ts';

/** The time that a question waits for others, in milliseconds. Calls that were parked together come back together. */
const GATHER_MS = 100;

/** The time in which a collector has to answer, in milliseconds. A call that waits for two answers sends no heartbeats meanwhile. */
const ANSWER_MS = 3_000;

/** The most calls of one question. */
const MOST_KEYS = 2_000;

/** What a collector says about a call. `gone`: no such collector runs; `silent`: it does not answer now. */
export type Found = CallPlace | 'gone' | 'silent';

/** The questions of the calls of a worker to one collector. */
interface Questions {
  waiting: Map<string, ((found: Found) => void)[]>;
  isAsking: boolean;
}

/**
 * Asks collectors where calls are. A worker asks each of them one question at a time, for all calls that want to know meanwhile: the server
 * keeps hardly any queries of one workflow, and refuses the others.
 */
export class CollectorQuestions {
  readonly #collectors = new Map<string, Questions>();

  /** Returns the place of a call. Rejects with the reason of the signal alone. */
  async placeOf(client: Client, workflowId: string, key: string, signal: AbortSignal): Promise<Found> {
    signal.throwIfAborted();
    const questions = this.#collectors.get(workflowId) ?? { waiting: new Map(), isAsking: false };
    this.#collectors.set(workflowId, questions);
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      // An attempt before, which the server has given up, may still wait.
      questions.waiting.set(key, [...(questions.waiting.get(key) ?? []), resolve]);
      if (!questions.isAsking) void this.#ask(client, workflowId, questions);
    });
  }

  async #ask(client: Client, workflowId: string, questions: Questions): Promise<void> {
    questions.isAsking = true;
    while (questions.waiting.size > 0) {
      await sleep(GATHER_MS);
      const asked = [...questions.waiting].slice(0, MOST_KEYS);
      for (const [key] of asked) questions.waiting.delete(key);
      const found = await placesOf(
        client,
        workflowId,
        asked.map(([key]) => key),
      );
      for (const [index, [, settle]] of asked.entries()) {
        const place = typeof found === 'string' ? found : (found[index] ?? 'silent');
        for (const resolve of settle) resolve(place);
      }
    }
    questions.isAsking = false;
    this.#collectors.delete(workflowId);
  }
}

async function placesOf(client: Client, workflowId: string, keys: string[]): Promise<CallPlace[] | 'gone' | 'silent'> {
  try {
    const handle = client.workflow.getHandle(workflowId);
    return await client.withDeadline(Date.now() + ANSWER_MS, async () => {
      // A worker would answer for a closed one, too.
      const { closeTime } = await handle.describe();
      return closeTime === undefined ? handle.query<CallPlace[], [string[]]>(COLLECTOR_QUERIES.calls, keys) : 'gone';
    });
  } catch (error) {
    return isInstance(error, WorkflowNotFoundError) ? 'gone' : 'silent';
  }
}
