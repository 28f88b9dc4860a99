import type { ListFilter, RunListEntry } from '../../client/listing/list-runs.ts';
import type { RunStatus } from '../../core/domain/run/status.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { printable } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';
import { tableLines } from '../render/table-lines.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul list`. */
export interface ListFlags extends ServerFlags {
  agent?: string;
  status?: RunStatus;
  query?: string;
  tag?: string;
  /** The name of a tool, or true for any. */
  waiting?: string | true;
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
  else for (const line of listLines(entries, output)) output.print(line);
  return 0;
}

function filterOf({ agent, status, query, tag, waiting, limit }: ListFlags): ListFilter {
  return {
    limit,
    ...(agent === undefined ? {} : { agent }),
    ...(status === undefined ? {} : { status }),
    ...(query === undefined ? {} : { query }),
    ...(tag === undefined ? {} : { tag }),
    ...(waiting === undefined ? {} : { waitingFor: waiting }),
  };
}

/** Returns runs as a table, with columns for waiting calls and tags only if a run has some. */
export function listLines(entries: readonly RunListEntry[], output: Pick<Output, 'look'>): string[] {
  const lists: [header: string, of: (entry: RunListEntry) => readonly string[]][] = [
    ['WAITING FOR', ({ waitingFor }) => waitingFor],
    ['TAGS', ({ tags = [] }) => tags],
  ];
  const shown = lists.filter(([, of]) => entries.some((entry) => of(entry).length > 0));
  const ownerColumn = entries.every(({ kind }) => kind === 'agent') ? 'AGENT' : 'AGENT OR PROGRAM';
  const header = ['RUN', ownerColumn, 'STATUS', 'STARTED', 'DURATION', ...shown.map(([name]) => name)];
  const rows = entries.map((entry) => [...cells(entry), ...shown.map(([, of]) => of(entry).map(printable).join(', '))]);
  return tableLines(header, rows, output);
}

function cells({ runId, agentName, status, startTime, endTime }: RunListEntry): string[] {
  const duration = endTime === null ? '' : `${((Date.parse(endTime) - Date.parse(startTime)) / 1000).toFixed(1)}s`;
  return [printable(runId), printable(agentName ?? '?'), status ?? '?', startTime.replace(/\.\d+Z$/, 'Z'), duration];
}
