import { counted, oneLine, printableLine } from '../../core/domain/text.ts';
import type { SpanKind, TimeByKind, TimelineSpan } from '../../core/domain/timeline.ts';
import { type Output, tableLines } from '../output.ts';

/** The kinds of time in the order in which they are listed, in words. */
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

/** Bytes of the message of a failure that a line shows. */
const FAILURE_BYTES = 80;

/** A timeline of a run, all pages of it. */
interface WholeTimeline {
  runId: string;
  ms: TimeByKind;
  spans: readonly TimelineSpan[];
}

/** Returns the timeline of a run for people: the time by kind, and a table of the spans, with their beginnings from that of the first. */
export function spanLines({ runId, ms, spans }: WholeTimeline, output: Pick<Output, 'look'>, full: boolean): string[] {
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
