import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Missing } from '../../core/domain/errors/missing.ts';
import { type ChainedExecution, executionBeginning } from '../../history/execution-beginning.ts';
import { PROGRAM_RUN, type RunningCall } from '../../core/protocol.ts';
import { missingThings } from '../start/missing-things.ts';
import { runningCalls } from './running-calls.ts';
import { requireRun } from '../listing/foreign-workflow.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { hasEndedAs } from '../../temporal/run-state.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** The state of the newest execution of a run. */
export interface NewestExecution {
  executionId: string;
  /** The kind of run: of an agent or of a program. */
  kind: 'agent' | 'program';
  /** Temporal's name of the status. */
  status: string;
  /** True if the run has ended. */
  closed: boolean;
  /** The calls in progress. */
  running: RunningCall[];
  /** Things that calls wait for because no worker has had them so far. */
  missing: Missing[];
}

/** The executions of a run. An execution's data never changes, so each is looked up once. */
export class RunChain {
  readonly #client: Client;
  readonly #runId: string;
  readonly #known = new Map<string, ChainedExecution>();

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Returns the newest execution. Throws `run_not_found`, and `not_a_run` for a workflow of the user's own. */
  async newest(): Promise<NewestExecution> {
    try {
      const description = await withoutMemos(this.#client).workflow.getHandle(this.#runId).describe();
      const { status, runId, type } = description;
      requireRun(this.#client, this.#runId, type);
      const [running, missing] = await Promise.all([runningCalls(this.#client, description), missingThings(this.#client, description)]);
      const kind = type === PROGRAM_RUN ? 'program' : 'agent';
      return { executionId: runId, kind, status: status.name, closed: hasEndedAs(status.name), running, missing };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(this.#client, this.#runId);
      throw error;
    }
  }

  /** Returns all executions that the server has, the oldest first: it removes the oldest first. Throws `run_not_found`. */
  async executions(): Promise<ChainedExecution[]> {
    const chain: ChainedExecution[] = [];
    let next: string | undefined = (await this.newest()).executionId;
    while (next !== undefined) {
      const execution: ChainedExecution | undefined = this.#known.get(next) ?? (await this.#lookUp(next));
      if (execution === undefined) break;
      chain.unshift(execution);
      next = execution.continuedFrom;
    }
    return chain;
  }

  async #lookUp(executionId: string): Promise<ChainedExecution | undefined> {
    const begun = await executionBeginning(this.#client, this.#runId, executionId);
    if (begun === undefined) return undefined;
    const { before, carry } = begun;
    const execution: ChainedExecution = {
      executionId,
      ...(before === undefined ? {} : { continuedFrom: before }),
      firstOffset: carry?.window.through ?? 0,
      firstStep: carry?.currentStep ?? 0,
      firstTurn: carry?.session?.turn?.number ?? (carry?.session?.turns ?? 0) + 1,
    };
    this.#known.set(executionId, execution);
    return execution;
  }
}
