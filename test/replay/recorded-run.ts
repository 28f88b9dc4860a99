import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { LonghaulClient } from '../../src/client/index.ts';
import { type ContextPage, QUERIES, type StepsPage } from '../../src/core/protocol.ts';
import { historyFile, recordFile, type RunRecordFile } from './histories.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Removes the paths of the recording machine, which stack traces name. `node_modules` may be a link to another folder. */
function withoutPaths(json: string): string {
  return json.replaceAll(root, '').replaceAll(/\/[\w./-]*\/(?=node_modules\/)/g, '');
}

/** A run that is to be recorded, and the runs that it has started as children. */
export class RecordedRun {
  readonly #client: LonghaulClient;
  readonly #runId: string;

  constructor(client: LonghaulClient, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Writes the events and steps of the run and of its children, execution by execution, as the worker answers from the sandbox. */
  async writeRecords(): Promise<void> {
    const record: RunRecordFile = { events: [], steps: [] };
    for await (const { executionId } of this.#executions()) {
      const execution = this.#client.temporal.workflow.getHandle(this.#runId, executionId);
      const { events } = await execution.query<ContextPage>(QUERIES.context);
      const { steps } = await execution.query<StepsPage>(QUERIES.steps);
      record.events.push(...events);
      record.steps.push(...steps);
    }
    await writeFile(recordFile(this.#runId), `${JSON.stringify(record)}\n`);
    for (const child of await this.#children()) await child.writeRecords();
  }

  /** Writes a file for each execution of the run and of its children; later executions have a number. */
  async writeHistories(): Promise<void> {
    let execution = 0;
    for await (const { history } of this.#executions()) {
      execution += 1;
      await writeFile(historyFile(this.#runId, execution), `${withoutPaths(historyToJSON(history))}\n`);
    }
    for (const child of await this.#children()) await child.writeHistories();
  }

  /** Returns the children that are named for this run: the names of all others are random. */
  async #children(): Promise<RecordedRun[]> {
    const ids: string[] = [];
    for await (const { history } of this.#executions()) {
      for (const { startChildWorkflowExecutionInitiatedEventAttributes: start } of history.events ?? []) {
        if (start?.workflowId?.startsWith(`${this.#runId}/`)) ids.push(start.workflowId);
      }
    }
    return ids.map((id) => new RecordedRun(this.#client, id));
  }

  /** The executions of the run, the oldest first. */
  async *#executions(): AsyncGenerator<{ executionId: string; history: History }> {
    let executionId = await this.#firstExecution();
    while (executionId) {
      const history = await this.#client.temporal.workflow.getHandle(this.#runId, executionId).fetchHistory();
      yield { executionId, history };
      executionId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    }
  }

  /** Returns the first execution of the run, which its newest execution names. */
  async #firstExecution(): Promise<string | null | undefined> {
    const { events } = await this.#client.temporal.workflow.getHandle(this.#runId).fetchHistory();
    return events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId;
  }
}
