import { activityInfo, getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import type { OfRun } from '../../src/core/protocol.ts';
import { findTrace, type TracedExecution } from '../../src/history/run-trace.ts';
import type { RunTrace } from '../../src/telemetry/ids.ts';

/** The executions whose places in a trace a worker remembers. */
const MOST_TRACES = 10_000;

/** The time that the server has for its answers, in milliseconds: a trace is not worth a longer wait. */
const ANSWER_MS = 2_000;

/**
 * The places of runs in their traces. The server is asked once for each execution, and by nobody else for what it has said: nothing is
 * added to a history for it.
 */
export class RunTraces {
  readonly #traces = new LRUCache<string, Promise<RunTrace | undefined>>({ max: MOST_TRACES });

  /** Returns the place of the run of the current activity. Undefined if the server does not say it in time. */
  ofActivity({ run: key = '' }: OfRun): Promise<RunTrace | undefined> {
    const { workflowExecution: { workflowId = '', runId: executionId = '' } = {} } = activityInfo();
    return this.of(getClient(), { workflowId, executionId, key });
  }

  /** Returns the place of a run. Undefined if the server does not say it in time. */
  async of(client: Client, execution: TracedExecution): Promise<RunTrace | undefined> {
    const { workflowId, executionId = '', key } = execution;
    const name = JSON.stringify([client.options.namespace, workflowId, executionId, key]);
    const known = this.#traces.get(name) ?? this.#ask(client, execution);
    this.#traces.set(name, known);
    const trace = await known;
    // The next call may have more luck.
    if (trace === undefined) this.#traces.delete(name);
    return trace;
  }

  async #ask(client: Client, execution: TracedExecution): Promise<RunTrace | undefined> {
    const findParent = (_: Client, parent: TracedExecution): Promise<RunTrace | undefined> => this.of(client, parent);
    try {
      return await client.withDeadline(Date.now() + ANSWER_MS, () => findTrace(client, execution, findParent));
    } catch {
      return undefined;
    }
  }
}
