import type { ExportLine, ExportSummary } from '../../../src/client/export-run.ts';
import { startedEvent } from '../../../src/history/history-events.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, say, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { broken, search } from '../testbed/agents.ts';
import { type Testbed, until } from '../testbed/testbed.ts';

/** So low that a run continues as new after every step. */
export const EVERY_STEP = { events: 8 };

/** An agent for runs of many executions. */
export const traveller = defineAgent({ name: 'traveller', model: 'scripted/m', tools: [search, broken] });

/** The script gives four steps, eight events, and at least as many executions as steps if the run continues after every step. */
export const JOURNEY: ScriptEntry[] = [
  together(say('first'), callTool('search', { query: 'one' }, 'c1'), callTool('broken', {}, 'c2')),
  callTool('search', { query: 'two' }, 'c3'),
  callTool('search', { query: 'three' }, 'c4'),
  say('done'),
];

/** The parts of an export. */
export interface Exported {
  lines: ExportLine[];
  types: string[];
  offsets: number[];
  steps: number[];
  summary: ExportSummary | undefined;
}

/** Reads an export to its end. */
export async function exported(lines: AsyncIterable<ExportLine>): Promise<Exported> {
  return partsOf(await Array.fromAsync(lines));
}

/** Sorts the lines of an export into its parts. */
export function partsOf(lines: ExportLine[]): Exported {
  return {
    lines,
    types: lines.map(({ type }) => type),
    offsets: lines.flatMap((line) => (line.type === 'event' ? [line.offset] : [])),
    steps: lines.flatMap((line) => (line.type === 'step' ? [line.step] : [])),
    summary: lines.flatMap((line) => (line.type === 'summary' ? [line] : []))[0],
  };
}

/** Deletes the first executions of a run, as retention does. Returns the offset of the first event that is left. */
export async function forgetFirst(testbed: Testbed, runId: string, count: number): Promise<number> {
  const { temporal } = testbed.client;
  const { namespace } = temporal.options;
  const before = await new RunChain(temporal, runId).executions();
  for (const { executionId } of before.slice(0, count)) {
    await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: runId, runId: executionId } });
  }
  const isForgotten = async (executionId: string): Promise<boolean> => (await startedEvent(temporal, runId, executionId)) === undefined;
  for (const { executionId } of before.slice(0, count))
    await until(() => isForgotten(executionId), 'the server to remove an execution', 180);
  return before[count]?.firstOffset ?? 0;
}
