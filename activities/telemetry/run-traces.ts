import { activityInfo, getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { type OfRun, QUERIES, type StatusView } from '../../src/core/protocol.ts';
import { findTrace, type TracedExecution } from '../../src/history/recorded-trace.ts';
import { type RunTrace, traceOfTurn } from '../../src/telemetry/ids.ts';
import { SessionTurns } from './session-turns.ts';

/** The executions whose places in a trace a worker remembers. */
const MOST_TRACES = 10_000;

/** The time that the server has for its answers, in milliseconds: a trace is not worth a longer wait. */
const ANSWER_MS = 2_000;

/**
 * The places of runs in their traces. The server is asked once for each execution, and by nobody else for what it has said: nothing is
 * added to a history for it.
 */
export class RunTraces {
  readonly turns = new SessionTurns();
  readonly #traces = new LRUCache<string, Promise<RunTrace | undefined>>({ max: MOST_TRACES });

  /**
   * Returns the place of the run of the current activity, in a session that of the turn to which the event at an offset belongs. Undefined
   * if the server does not say it in time.
   */
  async ofActivity({ run: key = '' }: OfRun, offset: number): Promise<RunTrace | undefined> {
    const { workflowExecution: { workflowId = '', runId: executionId = '' } = {} } = activityInfo();
    const client = getClient();
    const trace = await this.of(client, { workflowId, executionId, key });
    if (!trace?.isSession) return trace;
    const turn = this.turns.at(executionId, offset) ?? (await askTurn(client, workflowId, executionId));
    return turn === undefined ? undefined : traceOfTurn(trace, turn);
  }

  /** Returns the place of a run. Undefined if the server does not say it in time. */
  async of(client: Client, execution: TracedExecution): Promise<RunTrace | undefined> {
    const { workflowId, executionId = '', key, offset = '' } = execution;
    const name = JSON.stringify([client.options.namespace, workflowId, executionId, key, offset]);
    const known = this.#traces.get(name) ?? this.#ask(client, execution);
    this.#traces.set(name, known);
    const trace = await known;
    // The next call may have more luck.
    if (trace === undefined) this.#traces.delete(name);
    return trace;
  }

  async #ask(client: Client, execution: TracedExecution): Promise<RunTrace | undefined> {
    const findParent = (_: Client, parent: TracedExecution): Promise<RunTrace | undefined> => this.of(client, parent);
    return withinAnswer(client, () => findTrace(client, execution, findParent));
  }
}

/** Asks a session for its turn: it waits in it for the activity that asks. */
async function askTurn(client: Client, workflowId: string, executionId: string): Promise<number | undefined> {
  const view = await withinAnswer(client, ({ workflow }) => workflow.getHandle(workflowId, executionId).query<StatusView>(QUERIES.status));
  return view?.session?.turns;
}

/** Asks the server for something about a trace. Undefined if it does not answer in time. */
export async function withinAnswer<Answer>(client: Client, ask: (client: Client) => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await client.withDeadline(Date.now() + ANSWER_MS, () => ask(client));
  } catch {
    return undefined;
  }
}
