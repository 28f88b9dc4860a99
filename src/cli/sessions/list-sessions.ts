import type { SessionFilter, SessionListEntry } from '../../client/list.ts';
import { oneLine, printableLine } from '../../core/domain/text.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { Output } from '../output.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { pointInTime } from '../render/point-in-time.ts';
import { principalText } from '../render/subject-facts.ts';
import { type Column, leastOfIds, tableLines } from '../render/table-lines.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul sessions`. */
export interface SessionsFlags extends ServerFlags {
  agent?: string;
  status?: RunStatus;
  tag?: string;
  query?: string;
  limit: number;
}

/** The bytes of a title that the table shows; `--json` shows all. */
const TITLE_BYTES = 60;

/** Lists sessions, newest first: a table, or one JSON object per line. */
export async function sessions(io: CommandIo, flags: SessionsFlags): Promise<number> {
  const { output, terminal } = io;
  const entries: SessionListEntry[] = [];
  await withClient(io, flags, async ({ client }) => {
    for await (const entry of client.sessions(filterOf(flags))) {
      terminal.signal.throwIfAborted();
      if (output.json) output.printJson({ ...entry, status: entry.status ?? null });
      else entries.push(entry);
    }
  });
  if (output.json) return 0;
  if (entries.length === 0) output.note('No sessions.');
  else for (const line of sessionLines(entries, output)) output.print(line);
  return 0;
}

function filterOf({ agent, status, tag, query, limit }: SessionsFlags): SessionFilter {
  return {
    limit,
    ...(agent === undefined ? {} : { agent }),
    ...(status === undefined ? {} : { status }),
    ...(tag === undefined ? {} : { tag }),
    ...(query === undefined ? {} : { query }),
  };
}

/** Returns sessions as a table, with columns for waiting calls and titles only if a session has some. */
export function sessionLines(
  entries: readonly SessionListEntry[],
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'columns'>>,
): string[] {
  const more: [header: Column, of: (entry: SessionListEntry) => string][] = [
    [{ title: 'FOR', least: 10, leaves: 1 }, (entry) => principalText(entry) ?? ''],
    [{ title: 'WAITING FOR', least: 10, leaves: 3 }, ({ waitingFor }) => printableLine(waitingFor.join(', '))],
    [{ title: 'TITLE', least: 10, leaves: 4 }, ({ title = '' }) => oneLine(printableLine(title), TITLE_BYTES)],
  ];
  const shown = more.filter(([, of]) => entries.some((entry) => of(entry) !== ''));
  const rows = entries.map((entry) => [
    printableLine(entry.sessionId),
    printableLine(entry.agentName),
    entry.status ?? '?',
    pointInTime(entry.startTime),
    ...shown.map(([, of]) => of(entry)),
  ]);
  const header: Column[] = [
    { title: 'SESSION', least: leastOfIds(entries.map(({ sessionId }) => sessionId)) },
    { title: 'AGENT', least: 8 },
    { title: 'STATUS' },
    { title: 'STARTED', leaves: 2 },
    ...shown.map(([column]) => column),
  ];
  return tableLines(header, rows, output);
}
