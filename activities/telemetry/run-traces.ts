import { activityInfo, getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import type { TracedBeginning } from '../../src/core/domain/traced-part.ts';
import { type OfRun, QUERIES, type StatusView } from '../../src/core/protocol.ts';
import { findTrace, type TracedExecution } from '../../src/history/recorded-trace.ts';
import { type RunTrace, tracedRun, traceOfStart, traceOfTurn } from '../../src/telemetry/ids.ts';
import { SessionTurns } from './session-turns.ts';

/** The number of executions whose places in a trace a worker remembers. */
const MOST_TRACES = 10_000;

/** The time limit for the server's answers, in milliseconds: a trace is not worth a longer wait. */
const ANSWER_MS = 2_000;

/** The first execution of a run. */
interface FirstExecution {
  namespace: string;
  workflowId: string;
  /** Temporal's run id. */
  executionId: string;
  firstExecutionId: string;
}

/**
 * The places of runs in their traces. A run that begins in this process reports its own; for any other, the server is asked once per
 * execution. This adds nothing to a history.
 */
export class RunTraces {
  readonly turns = new SessionTurns();
  readonly #traces = new LRUCache<string, Promise<RunTrace | undefined>>({ max: MOST_TRACES });

  /**
   * Returns the place of the current activity's run; in a session, of the turn with the event at an offset. Undefined if the server does
   * not answer in time.
   */
  async ofActivity({ run: key = '' }: OfRun, offset: number): Promise<RunTrace | undefined> {
    const { workflowExecution: { workflowId = '', runId: executionId = '' } = {} } = activityInfo();
    const client = getClient();
    const trace = await this.of(client, { workflowId, executionId, key });
    if (!trace?.isSession) return trace;
    const turn = this.turns.at(executionId, offset) ?? (await askTurn(client, workflowId, executionId));
    return turn === undefined ? undefined : traceOfTurn(trace, turn);
  }

  /** Records the place of a new run. A child's place is below its parent's call, which only the parent's record has. */
  began({ namespace, workflowId, executionId, firstExecutionId }: FirstExecution, beginning: TracedBeginning): void {
    const { key, traceparent, isSession, isChild } = beginning;
    if (isChild) return;
    const trace = traceOfStart(tracedRun({ namespace, workflowId, firstExecutionId, key }), traceparent);
    this.#traces.set(nameOf(namespace, { workflowId, executionId, key }), Promise.resolve(isSession ? { ...trace, isSession } : trace));
  }

  /** Returns the place of a run. Undefined if the server does not answer in time. */
  async of(client: Client, execution: TracedExecution): Promise<RunTrace | undefined> {
    const name = nameOf(client.options.namespace, execution);
    const known = this.#traces.get(name) ?? this.#ask(client, execution);
    this.#traces.set(name, known);
    const trace = await known;
    // The next call tries again.
    if (trace === undefined) this.#traces.delete(name);
    return trace;
  }

  async #ask(client: Client, execution: TracedExecution): Promise<RunTrace | undefined> {
    const findParent = (_: Client, parent: TracedExecution): Promise<RunTrace | undefined> => this.of(client, parent);
    return withinAnswer(client, () => findTrace(client, execution, findParent));
  }
}

/** Returns a name for an execution, and an event in it, that is unique across namespaces. */
function nameOf(namespace: string, execution: TracedExecution): string {
  const { workflowId, executionId = '', key, offset = '' } = execution;
  return JSON.stringify([namespace, workflowId, executionId, key, offset]);
}

/** Asks a session for its current turn, in which it waits for the asking activity. */
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
