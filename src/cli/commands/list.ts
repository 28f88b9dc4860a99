import type { ListFilter, RunListEntry } from '../../client/list.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { defined } from '../../core/domain/defined.ts';
import { inBatches } from '../../temporal/waiting.ts';
import { withClient } from '../command.ts';
import type { CommandIo } from '../define-command.ts';
import { printableLine } from '../../core/domain/text.ts';
import { type Column, leastOfIds, type Output, tableLines } from '../output.ts';
import { principalText } from '../render/facts.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import type { ListFlags } from '../run-commands.ts';

/** Lists runs, newest first: a table, or one JSON object per line. */
export async function list(io: CommandIo, flags: ListFlags): Promise<number> {
  const { output, terminal } = io;
  const entries: ListedRun[] = [];
  await withClient(io, flags, async ({ client }) => {
    for await (const entry of listRuns(client, flags)) {
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

/** Runs that are described at once. */
const ASKED_AT_ONCE = 10;

/** Yields the runs; those that wait for a person with what they were asked, which the server has with each run, and no list. */
function listRuns(client: LonghaulClient, flags: ListFlags): AsyncIterable<ListedRun> {
  const runs = client.list(filterOf(flags));
  return flags.waiting === undefined ? runs : inBatches(runs, ASKED_AT_ONCE, (entry) => withQuestion(client, entry));
}

async function withQuestion({ temporal }: LonghaulClient, entry: RunListEntry): Promise<ListedRun> {
  const { readQuestion } = await import('../../client/list.ts');
  const question = await readQuestion(temporal, entry);
  return question === undefined || question === '' ? entry : { ...entry, question };
}

function filterOf({ agent, status, query, tag, since, waiting, limit }: ListFlags): ListFilter {
  return {
    limit,
    ...defined({ agent, status, query, tag, startedAfter: since, waitingFor: waiting }),
  };
}

/** The widths that cells keep on a narrow terminal. */
const LEAST = { agent: 6, text: 8 };

/** A run in a list, and what it was asked, if that is known. */
export type ListedRun = RunListEntry & { question?: string };

/** The columns that a list has only if a run has something for them, in the order in which they stand. */
const OPTIONAL: readonly { column: Column; of: (entry: ListedRun) => string }[] = [
  { column: { title: 'FOR', least: LEAST.text, leaves: 5 }, of: (entry) => principalText(entry) ?? '' },
  { column: { title: 'WAITING FOR', least: LEAST.text, leaves: 7 }, of: ({ waitingFor }) => waitingFor.join(', ') },
  { column: { title: 'TITLE', least: LEAST.text, leaves: 4 }, of: ({ title = '' }) => title },
  { column: { title: 'ASKED', least: LEAST.text, leaves: 6 }, of: ({ question = '' }) => question },
  { column: { title: 'TAGS', least: LEAST.text, leaves: 2 }, of: ({ tags = [] }) => tags.join(', ') },
];

/** Returns runs as a table, with some columns only if a run has something for them. Ids that are cut still name one run of the list. */
export function listLines(entries: readonly ListedRun[], output: Pick<Output, 'look'> & Partial<Pick<Output, 'columns'>>): string[] {
  const shown = OPTIONAL.filter(({ of }) => entries.some((entry) => of(entry) !== ''));
  const owner = entries.every(({ kind }) => kind === 'agent') ? 'AGENT' : 'AGENT OR PROGRAM';
  const header: Column[] = [
    { title: 'RUN', least: leastOfIds(entries.map(({ runId }) => runId)) },
    { title: owner, least: LEAST.agent },
    { title: 'STATUS' },
    { title: 'STARTED', leaves: 3 },
    { title: 'DURATION', leaves: 1 },
    ...shown.map(({ column }) => column),
  ];
  const rows = entries.map((entry) => [...cells(entry), ...shown.map(({ of }) => printableLine(of(entry)))]);
  return tableLines(header, rows, output);
}

function cells({ runId, agentName, status, startTime, endTime }: RunListEntry): string[] {
  const duration = endTime === null ? '' : `${secondsBetween(startTime, endTime).toFixed(1)}s`;
  return [printableLine(runId), printableLine(agentName ?? '?'), status ?? '?', startTime.replace(/\.\d+Z$/, 'Z'), duration];
}
