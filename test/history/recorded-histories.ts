import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { ExecutionReader } from '../../src/history/execution-reader.ts';
import type { RecordedExecution } from '../../src/history/recorded-execution.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { AGENT_RUN, PROGRAM_RUN } from '../../src/core/protocol.ts';
import { recordedHistories } from '../replay/histories.ts';

/** The converter of recorded histories. */
export const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

/** An execution of a recorded run, with its events. */
export interface RecordedChainLink {
  recorded: RecordedExecution;
  events: HistoryEvent[];
}

/** The types of the workflows that are runs. */
const RUNS: readonly string[] = [AGENT_RUN, PROGRAM_RUN];

let chainsRead: Promise<Map<string, RecordedChainLink[]>> | undefined;

/** The recorded runs that are separate workflows, each with its executions, the oldest first. All tests of a process share them. */
export function recordedChains(): Promise<Map<string, RecordedChainLink[]>> {
  return (chainsRead ??= readChains());
}

async function readChains(): Promise<Map<string, RecordedChainLink[]>> {
  const chains = new Map<string, RecordedChainLink[]>();
  for (const { name, runId, history } of recordedHistories()) {
    const [started] = historyFromJSON(history).events ?? [];
    if (!RUNS.includes(started?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '')) continue;
    const [, execution = '1'] = /-(\d+)$/.exec(name) ?? [];
    const links = chains.get(runId) ?? [];
    links[Number(execution) - 1] = await link(name, history);
    chains.set(runId, links);
  }
  return chains;
}

async function link(name: string, history: unknown): Promise<RecordedChainLink> {
  const { events } = historyFromJSON(history);
  const reader = new ExecutionReader(name, CONVERTER);
  for (const event of events ?? []) await reader.read(event);
  return { recorded: reader.execution, events: [...(events ?? [])] };
}
