import type { FeedItem } from '../../client/feed-item.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunTree } from '../../client/run-tree.ts';
import { waitsText } from '../../core/domain/approvals.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { counted, oneLine, printableLine } from '../../core/domain/text.ts';
import {
  type RequestItem,
  type SpanKind,
  type StepRequest,
  type TimeByKind,
  timeByKind,
  type TimelineSpan,
  type TurnEntry,
} from '../../core/domain/views.ts';
import { printList, withClient, withRun } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { loadAgentsModule } from '../input-files.ts';
import { type EntryColumn, entryLines, type Output, pointInTime, tableLines } from '../output.ts';
import type { CALL, COUNTS, FEED, REQUEST, SNAPSHOT, TIMELINE, TURNS } from '../run-commands.ts';

/** Prints the timeline of a run, and with `--tree` also of its descendants. */
export async function timeline(io: CommandIo, flags: FlagsOf<typeof TIMELINE>): Promise<number> {
  const { output, terminal } = io;
  return withRun(io, flags, async ({ client, runId }) => {
    const ids = flags.tree ? idsIn(await client.handle(runId).tree()) : [runId];
    for (const [index, id] of ids.entries()) {
      terminal.signal.throwIfAborted();
      const spans = await allSpans(client, id);
      const whole = { runId: id, ms: timeByKind(spans), spans };
      output.result(whole, [...(index === 0 ? [] : ['']), ...spanLines(whole, output, flags.full === true)]);
    }
    return 0;
  });
}

function idsIn({ runId, children }: RunTree): string[] {
  return [runId, ...children.flatMap(idsIn)];
}

async function allSpans(client: LonghaulClient, runId: string): Promise<TimelineSpan[]> {
  const all: TimelineSpan[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const { spans, next }: { spans: TimelineSpan[]; next?: number } = await client.handle(runId).timeline({ from });
    all.push(...spans);
    from = next;
  }
  return all;
}

/** Prints the pinned agent of a run. */
export async function snapshot(io: CommandIo, flags: FlagsOf<typeof SNAPSHOT>): Promise<number> {
  const pinned = await withRun(io, flags, ({ client, runId }) => client.handle(runId).snapshot(defined({ at: flags.at })));
  return io.output.result(pinned, JSON.stringify(pinned, null, 2));
}

/** Prints everything that is recorded about one call. */
export async function call(io: CommandIo, flags: FlagsOf<typeof CALL>): Promise<number> {
  const details = await withRun(io, flags, ({ client, runId }) => client.handle(runId).call(flags.callId));
  return io.output.result(details, JSON.stringify(details, null, 2));
}

/** Prints the request of a step, or its difference from the previous one. */
export async function request(io: CommandIo, flags: FlagsOf<typeof REQUEST>): Promise<number> {
  const { output } = io;
  const step = Number(flags.step);
  if (!Number.isSafeInteger(step) || step < 1) throw new UsageError(`"${flags.step}" is not a step: write its number, from 1 on`);
  const providers = flags.agents === undefined ? {} : ((await loadAgentsModule(flags.agents)).providers ?? {});
  const asked = await withRun(io, flags, ({ client, runId }) =>
    client.handle(runId).request(step, { providers, ...(flags.diff ? { diff: 'previous' as const } : {}) }),
  );
  if (!flags.diff) return output.result(asked, JSON.stringify(asked, null, 2));
  return output.result(asked.diff ?? null, diffLines(asked, output));
}

function diffLines({ step, diff, unknown }: StepRequest, output: Pick<Output, 'look'>): string[] {
  if (diff === undefined) return ['Step 1 has no step before it'];
  const { tokens, of } = diff.commonPrefix;
  const items = (sign: string, list: readonly RequestItem[]): string[] =>
    list.map(({ offset, type, name, text }) => printableLine(`${sign} ${offset} ${type} ${name}: ${text}`));
  return [
    output.look('bold', `Step ${step}, compared with step ${diff.step}`),
    `The first ${tokens} of about ${of} tokens are the same`,
    ...items('+', diff.added),
    ...items('evicted', diff.evicted),
    ...items('-', diff.summarized),
    ...diff.changed.map((part) => printableLine(`changed ${part}`)),
    ...unknown.map(({ part, reason }) => output.look('yellow', printableLine(`unknown ${part}: ${reason}`))),
  ];
}

/** Prints what happens in all runs, until the terminal's signal. */
export async function feed(io: CommandIo, { agent, waiting, ...flags }: FlagsOf<typeof FEED>): Promise<number> {
  const { output, terminal } = io;
  return withClient(io, flags, async ({ client }) => {
    for await (const item of client.feed({ ...defined({ agent, waiting }), signal: terminal.signal })) {
      if (output.json) output.printJson(item);
      else if (item.type === 'gap') output.note('Something may be missing here');
      else output.print(feedLine(item));
    }
    return 0;
  });
}

function feedLine({ type, run }: Extract<FeedItem, { run: unknown }>): string {
  const { runId, agentName = '?', status, waitingFor } = run;
  const what = type === 'waiting' ? `waits for ${waitsText(waitingFor)}` : type === 'ended' ? `has ended: ${status ?? '?'}` : type;
  return printableLine(`${agentName} ${runId} ${what}`);
}

/** Counts runs by their status or their agent. */
export async function counts(
  io: CommandIo,
  { by, agent, status, tag, since, before, query, ...flags }: FlagsOf<typeof COUNTS>,
): Promise<number> {
  const { output } = io;
  const filter = defined({ agent, status, tag, startedAfter: since, startedBefore: before, query });
  const grouped = await withClient(io, flags, ({ client }) => client.counts(by, filter));
  const rows = grouped.counts.map(({ value, runs }) => [printableLine(value), String(runs)]);
  return output.result(grouped, tableLines([by.toUpperCase(), 'RUNS'], [...rows, ['all', String(grouped.total)]], output));
}

/** Lists the turns of a session. */
export async function turns(io: CommandIo, { sessionId: given, ...flags }: FlagsOf<typeof TURNS>): Promise<number> {
  return withRun(io, { ...flags, runId: given }, async ({ client, runId }) => {
    const { agentName } = await client.handle(runId).status();
    const { turns: listed } = await client.session(agentName, { id: runId }).turns({ from: flags.from, limit: flags.limit });
    return printList(io, listed, { json: (entry) => entry, lines: (entries) => turnLines(entries, io), none: 'No turns.' });
  });
}

function turnLines(entries: readonly TurnEntry[], { output }: CommandIo): string[] {
  const columns: EntryColumn<TurnEntry>[] = [
    { title: 'TURN', of: ({ turn }) => String(turn) },
    { title: 'STATUS', of: ({ status = 'running' }) => status },
    { title: 'STARTED', leaves: 1, of: ({ startTime }) => pointInTime(startTime) },
    { title: 'STEPS', leaves: 2, of: ({ steps }) => String(steps) },
    { title: 'TOKENS', leaves: 3, of: ({ tokens }) => String(tokens) },
    { title: 'QUESTION', least: 20, of: ({ question = '' }) => printableLine(question) },
    { title: 'ANSWER', least: 20, of: ({ answer = '' }) => printableLine(answer) },
  ];
  return entryLines(entries, columns, output);
}

/** The kinds of time in listing order, in words. */
const KINDS: readonly (readonly [keyof TimeByKind, string])[] = [
  ['model', 'model'],
  ['tool', 'tools'],
  ['child', 'children'],
  ['person', 'people'],
  ['queue', 'queues'],
  ['retry', 'earlier attempts'],
  ['task', 'workflow tasks'],
  ['own', 'own activities'],
];

/** The kinds of spans that only `--full` shows. */
const HIDDEN: ReadonlySet<SpanKind> = new Set<SpanKind>(['task', 'own']);

/** The most bytes of a failure message on a line. */
const FAILURE_BYTES = 80;

/** A timeline of a run, all pages of it. */
interface WholeTimeline {
  runId: string;
  ms: TimeByKind;
  spans: readonly TimelineSpan[];
}

/** Returns the timeline of a run as text: the time by kind, and a table of the spans, with start times relative to the first. */
function spanLines({ runId, ms, spans }: WholeTimeline, output: Pick<Output, 'look'>, full: boolean): string[] {
  const began = Date.parse(spans[0]?.from ?? '');
  const shown = spans.filter(({ kind, ended }) => full || ended !== undefined || !HIDDEN.has(kind));
  const left = spans.length - shown.length;
  const byKind = KINDS.filter(([kind]) => ms[kind] > 0).map(([kind, words]) => `${words} ${span(ms[kind])}`);
  return [
    `${output.look('bold', printableLine(runId))} ${output.look('dim', `· ${byKind.join(' · ') || 'nothing has ended yet'}`)}`,
    ...(shown.length === 0
      ? []
      : tableLines(
          ['AT', 'TOOK', 'QUEUE', 'KIND', 'STEP', 'WHAT'],
          shown.map((one) => cells(one, began)),
          output,
        )),
    ...(left === 0 ? [] : [output.look('dim', `${counted(left, 'span')} of own activities and workflow tasks: --full shows them`)]),
  ];
}

function cells(one: TimelineSpan, began: number): string[] {
  const { from, kind, name, runMs, queueMs, retryMs, step, callId, decision, ended, attempts = 1, failures = [] } = one;
  const what = [
    ...(name === callId || callId === undefined ? [name] : [name, callId]),
    ...(decision === undefined ? [] : [decision]),
    ...(attempts > 1 ? [`attempt ${attempts}`] : []),
    ...(retryMs === undefined ? [] : [`${span(retryMs)} before`]),
    ...(ended === undefined ? [] : [ended.replace('_', ' ')]),
    ...failures.map(({ attempt, code, message }) => `${attempt}: ${code ?? ''} ${oneLine(message, FAILURE_BYTES)}`),
  ];
  return [
    `+${span(Date.parse(from) - began)}`,
    runMs === undefined ? '…' : span(runMs),
    queueMs === undefined ? '' : span(queueMs),
    kind,
    step === undefined ? '' : String(step),
    printableLine(what.join(' · ')),
  ];
}

/** Formats milliseconds: `12ms`, `1.20s`, `3m04s`, `2h05m`. */
function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)}s`;
  const [big, small, unit] = ms < 3_600_000 ? ([60_000, 1_000, 'ms'] as const) : ([3_600_000, 60_000, 'hm'] as const);
  return `${Math.floor(ms / big)}${unit[0]}${String(Math.floor((ms % big) / small)).padStart(2, '0')}${unit[1]}`;
}
