import type { ListFilter, RunListEntry } from '../../client/list.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { quoted } from '../../client/visibility.ts';
import { waitsText } from '../../core/domain/approvals.ts';
import { defined } from '../../core/domain/json.ts';
import { inBatches } from '../../temporal/waiting.ts';
import { printList, UnreadNote, withClient } from '../command.ts';
import type { CommandIo } from '../define-command.ts';
import { type EntryColumn, entryLines, leastOfIds, type Output, pointInTime } from '../output.ts';
import { principalText } from '../render/run-view.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import { dollars } from '../../core/domain/usage.ts';
import type { ListFlags } from '../run-commands.ts';

/** Lists runs: a table, or one JSON object per line. */
export async function list(io: CommandIo, flags: ListFlags): Promise<number> {
  return withClient(io, flags, async ({ client }) => {
    const unread = new UnreadNote(io);
    await printList(io, listRuns(io, client, flags, unread), {
      json: (entry) => ({ ...entry, agentName: entry.agentName ?? null, status: entry.status ?? null }),
      lines: (entries) => listLines(entries, io.output),
      none: 'No runs.',
    });
    return unread.end();
  });
}

/** Runs that are described at once. */
const ASKED_AT_ONCE = 10;

/** Yields the runs. Runs that wait for a person include their first input, which the server stores with each run but does not list. */
function listRuns(
  { output }: Pick<CommandIo, 'output'>,
  client: LonghaulClient,
  flags: ListFlags,
  unread: UnreadNote,
): AsyncIterable<ListedRun> {
  const runs = client.list({ ...filterOf(flags), onUnread: unread.add, onCut: (sorted) => output.note(cutText(sorted)) });
  return flags.waiting === undefined ? runs : inBatches(runs, ASKED_AT_ONCE, (entry) => withQuestion(client, entry));
}

function cutText(sorted: number): string {
  return `More than ${sorted} runs match, and only the first ${sorted} of the server's order are sorted: narrow the list, for example by --since, --before or --agent`;
}

async function withQuestion({ temporal }: LonghaulClient, entry: RunListEntry): Promise<ListedRun> {
  const { readQuestion } = await import('../../client/list.ts');
  const question = await readQuestion(temporal, entry);
  return question === undefined || question === '' ? entry : { ...entry, question };
}

function filterOf({ agent, status, tag, since, before, waiting, limit, amounts, sort, ...flags }: ListFlags): ListFilter {
  const query = queryOf(flags);
  return {
    limit,
    ...defined({ agent, status, query, tag, startedAfter: since, startedBefore: before, waitingFor: waiting, amounts, sort }),
  };
}

/** The server marks what a Schedule has started. */
function queryOf({ schedule, query }: Pick<ListFlags, 'schedule' | 'query'>): string | undefined {
  if (schedule === undefined) return query;
  const ofSchedule = `TemporalScheduledById = ${quoted(schedule)}`;
  return query === undefined ? ofSchedule : `${ofSchedule} AND (${query})`;
}

/** The widths that cells keep on a narrow terminal. */
const LEAST = { agent: 6, text: 8 };

/** A run in a list, with its input if known. */
type ListedRun = RunListEntry & { question?: string };

/** Returns runs as a table, with some columns only if a run has something for them. Cut ids still identify one run of the list. */
export function listLines(entries: readonly ListedRun[], output: Pick<Output, 'look'> & Partial<Pick<Output, 'columns'>>): string[] {
  const owner = entries.every(({ kind }) => kind === 'agent') ? 'AGENT' : 'AGENT OR PROGRAM';
  const columns: EntryColumn<ListedRun>[] = [
    { title: 'RUN', least: leastOfIds(entries.map(({ runId }) => runId)), of: ({ runId }) => runId },
    { title: owner, least: LEAST.agent, of: ({ agentName = '?' }) => agentName },
    { title: 'STATUS', of: ({ status = '?' }) => status },
    { title: 'STARTED', leaves: 3, of: ({ startTime }) => pointInTime(startTime) },
    {
      title: 'DURATION',
      leaves: 1,
      of: ({ startTime, endTime }) => (endTime === null ? '' : `${secondsBetween(startTime, endTime).toFixed(1)}s`),
    },
    { title: 'STEPS', leaves: 1, ifAny: true, of: ({ steps }) => String(steps ?? '') },
    { title: 'TOKENS', leaves: 1, ifAny: true, of: ({ tokens }) => String(tokens ?? '') },
    { title: 'COST', leaves: 1, ifAny: true, of: ({ cost }) => (cost === undefined ? '' : dollars(cost)) },
    { title: 'FOR', least: LEAST.text, leaves: 5, ifAny: true, of: (entry) => principalText(entry) ?? '' },
    { title: 'WAITING FOR', least: LEAST.text, leaves: 7, ifAny: true, of: ({ waitingFor }) => waitsText(waitingFor) },
    { title: 'TITLE', least: LEAST.text, leaves: 4, ifAny: true, of: ({ title = '' }) => title },
    { title: 'ASKED', least: LEAST.text, leaves: 6, ifAny: true, of: ({ question = '' }) => question },
    { title: 'TAGS', least: LEAST.text, leaves: 2, ifAny: true, of: ({ tags = [] }) => tags.join(', ') },
  ];
  return entryLines(entries, columns, output);
}
