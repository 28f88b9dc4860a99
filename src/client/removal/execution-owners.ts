import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { errorCode } from '../../core/domain/errors.ts';
import { executionBeginning } from '../../history/execution-reader.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';
import { type Identity, isSameIdentity } from '../../core/domain/run.ts';
import { isRunType } from '../listing/run-types.ts';
import { inBatches } from '../../temporal/in-batches.ts';

/** The owner of an execution: the user in question, or another principal. */
export type ExecutionOwner = 'user' | 'other';

/** Executions whose beginnings are read at once. */
const READ_AT_ONCE = 10;

/**
 * Tells the executions of a user from those of other principals. The first event of an execution says whom it acts for, and never changes:
 * each is read once. An id of a run is no proof, because it may be taken again once a run has ended, also by another user.
 */
export class ExecutionOwners {
  readonly #client: Client;
  readonly #user: Identity;
  readonly #known = new Map<string, ExecutionOwner>();

  constructor(client: Client, user: Identity) {
    this.#client = client;
    this.#user = user;
  }

  /** Returns the owner of an execution; undefined for one that the server no longer has. */
  async of(runId: string, executionId: string): Promise<ExecutionOwner | undefined> {
    const owner = this.#known.get(executionId) ?? (await this.#read(runId, executionId));
    if (owner !== undefined) this.#known.set(executionId, owner);
    return owner;
  }

  /** Returns those of some executions that have an owner. */
  async only<Execution extends { runId: string; executionId: string }>(
    owner: ExecutionOwner,
    executions: readonly Execution[],
  ): Promise<Execution[]> {
    const found: Execution[] = [];
    const read = inBatches(executions, READ_AT_ONCE, async (execution) => {
      return { execution, owner: await this.of(execution.runId, execution.executionId) };
    });
    for await (const one of read) if (one.owner === owner) found.push(one.execution);
    return found;
  }

  /** Returns the owner of the newest execution of a run; undefined if the server has none. */
  async ofNewest(runId: string): Promise<ExecutionOwner | undefined> {
    try {
      const { runId: executionId, type } = await withoutMemos(this.#client).workflow.getHandle(runId).describe();
      return isRunType(type) ? await this.of(runId, executionId) : 'other';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  /** True if the server has an execution of that id that is none of the user's runs: one of another principal, or a workflow of another type. */
  async hasOthers(runId: string): Promise<boolean> {
    if ((await this.ofNewest(runId)) === 'other') return true;
    const executions: { runId: string; executionId: string }[] = [];
    for await (const info of withoutMemos(this.#client).workflow.list({ query: `WorkflowId = ${quoted(runId)}` })) {
      if (!isRunType(info.type)) return true;
      executions.push({ runId, executionId: info.runId });
    }
    return (await this.only('other', executions)).length > 0;
  }

  async #read(runId: string, executionId: string): Promise<ExecutionOwner | undefined> {
    try {
      const beginning = await executionBeginning(this.#client, runId, executionId);
      if (beginning === undefined) return undefined;
      return isSameIdentity(beginning.principal ?? {}, this.#user) ? 'user' : 'other';
    } catch (error) {
      if (errorCode(error) === 'run_not_found') return undefined;
      throw error;
    }
  }
}
