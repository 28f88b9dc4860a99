import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import type { NewestExecution } from '../../src/client/executions.ts';
import type { ReadableRun } from '../../src/client/run-details.ts';
import { AGENT_RUN, PROGRAM_RUN } from '../../src/core/protocol.ts';
import { type ChainedExecution, executionBeginning } from '../../src/history/execution-reader.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { readExecution } from '../../src/history/read-run.ts';
import { recordedHistories } from '../replay/histories.ts';
import { sessionOf } from '../../src/core/domain/sessions.ts';

const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

const RUNS: readonly string[] = [AGENT_RUN, PROGRAM_RUN];

/** A run with recorded histories, read without a worker. */
export interface RecordedServerRun extends ReadableRun {
  /** The events of all its executions. */
  events: HistoryEvent[];
}

let runsRead: Promise<Map<string, RecordedServerRun>> | undefined;

/**
 * Returns the recorded runs that are separate workflows, by their ids, like a server that no worker polls. All tests of a process share
 * them.
 */
export function recordedRuns(): Promise<Map<string, RecordedServerRun>> {
  return (runsRead ??= readRuns());
}

async function readRuns(): Promise<Map<string, RecordedServerRun>> {
  const histories = new Map<string, HistoryEvent[]>();
  const chains = new Map<string, { executionId: string; number: number }[]>();
  for (const { name, runId, history } of recordedHistories()) {
    const events = [...(historyFromJSON(history).events ?? [])];
    const { workflowType, originalExecutionRunId } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
    if (!RUNS.includes(workflowType?.name ?? '')) continue;
    const [, number = '1'] = /-(\d+)$/.exec(name) ?? [];
    const executionId = originalExecutionRunId ?? '';
    histories.set(`${runId} ${executionId}`, events);
    chains.set(runId, [...(chains.get(runId) ?? []), { executionId, number: Number(number) }]);
  }
  const service = {
    getWorkflowExecutionHistory: ({ execution: { workflowId, runId } }: { execution: { workflowId: string; runId: string } }) =>
      Promise.resolve({ history: { events: histories.get(`${workflowId} ${runId}`) ?? [] }, nextPageToken: new Uint8Array() }),
  };
  const stub: unknown = { options: { namespace: 'default', loadedDataConverter: CONVERTER }, workflowService: service };
  const client = stub as Client;
  const runs = [...chains].map(async ([runId, unordered]): Promise<[string, RecordedServerRun]> => {
    const links = unordered.toSorted((one, other) => one.number - other.number);
    const executions = await Promise.all(links.map(({ executionId }) => chained(client, runId, executionId)));
    const last = executions.at(-1)?.executionId ?? '';
    const newest = {
      executionId: last,
      kind: 'agent',
      status: 'COMPLETED',
      closed: true,
      running: [],
      missing: [],
    } satisfies NewestExecution;
    const chain: unknown = { executions: () => Promise.resolve(executions), newest: () => Promise.resolve(newest) };
    const recordedRun = async (): Promise<unknown> => (await readExecution(client, runId, last))?.run;
    const reader = { chain, recordedRun } as ReadableRun['reader'];
    const events = executions.flatMap(({ executionId }) => histories.get(`${runId} ${executionId}`) ?? []);
    return [runId, { client, runId, reader, events }];
  });
  return new Map(await Promise.all(runs));
}

async function chained(client: Client, runId: string, executionId: string): Promise<ChainedExecution> {
  const { continuedState } = (await executionBeginning(client, runId, executionId)) ?? {};
  const session = sessionOf(continuedState ?? {});
  return {
    executionId,
    firstOffset: continuedState?.window.through ?? 0,
    firstStep: continuedState?.currentStep ?? 0,
    firstTurn: session?.turn?.number ?? (session?.turns ?? 0) + 1,
  };
}
