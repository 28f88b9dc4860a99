import type { Client } from '@temporalio/client';
import { runState } from '../../temporal/run-state.ts';
import type { ExecutionOwners } from './execution-owners.ts';
import { removeExecutions } from './remove-executions.ts';
import { inBatches } from '../../temporal/in-batches.ts';

/** Executions that are looked up at once. */
const AT_ONCE = 10;

/** The executions of a user that the server was asked to remove, which it does in the background, and not in the order in which it stops to list them. */
export class AskedRemovals {
  readonly #client: Client;
  readonly #owners: ExecutionOwners;
  readonly #asked = new Set<string>();
  /** The runs of those that the server may still have, by execution. */
  readonly #left = new Map<string, string>();

  constructor(client: Client, owners: ExecutionOwners) {
    this.#client = client;
    this.#owners = owners;
  }

  /** The ids of all of them. */
  get asked(): ReadonlySet<string> {
    return this.#asked;
  }

  /**
   * Asks for the removal of the executions of a run that are the user's, of each once: each request is a task for the server. Returns the
   * ids of those that it had not asked for.
   */
  async ask(runId: string): Promise<string[]> {
    const isMeant = async (executionId: string): Promise<boolean> =>
      !this.#asked.has(executionId) && (await this.#owners.of(runId, executionId)) === 'user';
    const executionIds = await removeExecutions(this.#client, runId, isMeant);
    for (const executionId of executionIds) {
      this.#asked.add(executionId);
      this.#left.set(executionId, runId);
    }
    return executionIds;
  }

  /** Returns the runs of which the server still has an execution. */
  async left(): Promise<string[]> {
    const states = inBatches([...this.#left], AT_ONCE, async ([executionId, runId]) => {
      return { executionId, state: await runState(this.#client, runId, executionId) };
    });
    for await (const { executionId, state } of states) if (state === 'gone') this.#left.delete(executionId);
    return [...new Set(this.#left.values())];
  }
}
