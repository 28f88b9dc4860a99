import type { ListFilter, RunListEntry } from '../client/list-runs.ts';
import type { RunStatus } from '../domain/run-status.ts';
import type { CommandIo, ServerFlags } from './command.ts';
import { printable } from './output.ts';
import { tableLines } from './table-lines.ts';
import { withClient } from './with-client.ts';

/** The options of `longhaul list`. */
export interface ListFlags extends ServerFlags {
  agent?: string;
  status?: RunStatus;
  query?: string;
  limit: number;
}

/** Lists runs, newest first: a table, or one JSON object per line. */
export async function list(io: CommandIo, flags: ListFlags): Promise<number> {
  const { output, terminal } = io;
  const entries: RunListEntry[] = [];
  await withClient(io, flags, async ({ client }) => {
    for await (const entry of client.list(filterOf(flags))) {
      terminal.signal.throwIfAborted();
      if (output.json) output.printJson({ ...entry, agentName: entry.agentName ?? null, status: entry.status ?? null });
      else entries.push(entry);
    }
  });
  if (output.json) return 0;
  if (entries.length === 0) output.note('No runs.');
  else for (const line of tableLines(['RUN', 'AGENT', 'STATUS', 'STARTED', 'DURATION'], entries.map(cells), output)) output.print(line);
  return 0;
}

function filterOf({ agent, status, query, limit }: ListFlags): ListFilter {
  return {
    limit,
    ...(agent === undefined ? {} : { agent }),
    ...(status === undefined ? {} : { status }),
    ...(query === undefined ? {} : { query }),
  };
}

function cells({ runId, agentName, status, startTime, endTime }: RunListEntry): string[] {
  const duration = endTime === null ? '' : `${((Date.parse(endTime) - Date.parse(startTime)) / 1000).toFixed(1)}s`;
  return [printable(runId), printable(agentName ?? '?'), status ?? '?', startTime.replace(/\.\d+Z$/, 'Z'), duration];
}
