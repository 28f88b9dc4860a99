import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, connection } from './api.ts';
import type { Timeline, TimelineSpan } from './api-types.ts';
import { loadLazily } from './lazy.ts';
import { costText, number, span, spent } from './format.ts';
import { dueIn, FIRST_PAGES, type Reading, settledPages, withFirstStatus } from './pace.ts';
import { ProblemNote } from './parts.tsx';
import type { RunRecord } from './record.ts';
import { Name } from './text.tsx';
import { TEXTS } from './texts.ts';

/** What the timeline knows of a call. */
export interface CallFacts {
  ms: number | undefined;
  attempts: number;
  failures: { attempt: number; message: string }[];
}

/** The timeline of a run, as far as it is read. */
export interface ReadTimeline {
  ms: Timeline['ms'];
  calls: ReadonlyMap<string, CallFacts>;
  /** The attempts of model calls, by step. */
  models: ReadonlyMap<number, CallFacts>;
  next: number | undefined;
}

/** What is read of a run besides its record. */
export interface RunFacts {
  /** Changes when they have to be read anew: at once with the status, and from time to time with the answers. */
  round: number;
  /** The status of the run when they were last to be read. */
  status: string;
  /** Notes how long a part of the reading takes. Returns the work. */
  timed: <Value>(work: Promise<Value>) => Promise<Value>;
}

/** The pause before a run is read again whose service was away, in milliseconds: it may go and come several times. */
const READ_AGAIN_AFTER = 1_000;

export function useFacts(runId: string | undefined, { status, answers }: RunRecord): RunFacts {
  const [round, setRound] = useState(0);
  const [ended, setEnded] = useState(0);
  const read = useRef<Reading>({ runId: runId ?? '', status, answers, endedAt: 0, ms: 0 });
  const parts = useRef(0);
  useEffect(() => {
    const seen = { runId: runId ?? '', status, answers };
    read.current = withFirstStatus(read.current, seen);
    const due = dueIn(read.current, seen, Date.now());
    if (due === undefined) return undefined;
    const timer = setTimeout(() => {
      read.current = { ...read.current, status, answers };
      setRound((before) => before + 1);
    }, due);
    return () => clearTimeout(timer);
  }, [status, answers, ended]);
  // What could not be read while the service was away is read again.
  const isLost = connection.value !== '';
  const wasLost = useRef(false);
  useEffect(() => {
    const isBack = wasLost.current && !isLost;
    wasLost.current = isLost;
    if (!isBack) return undefined;
    const timer = setTimeout(() => setRound((before) => before + 1), READ_AGAIN_AFTER);
    return () => clearTimeout(timer);
  }, [isLost]);
  const timed = useCallback(async <Value,>(work: Promise<Value>): Promise<Value> => {
    const begunAt = Date.now();
    parts.current += 1;
    read.current = { ...read.current, endedAt: undefined };
    try {
      return await work;
    } finally {
      parts.current -= 1;
      if (parts.current === 0) {
        read.current = { ...read.current, endedAt: Date.now(), ms: Date.now() - begunAt };
        setEnded((before) => before + 1);
      }
    }
  }, []);
  return { round, status: read.current.status, timed };
}

/** Reads the timeline of a run, if there is one. */
export function useTimeline(
  runId: string | undefined,
  { round, status, timed }: RunFacts,
): { read: ReadTimeline | undefined; error: unknown; readOn: () => void } {
  const [state, setState] = useState<{ of: string | undefined; read?: ReadTimeline; error?: unknown }>({ of: undefined });
  const [pages, setPages] = useState(FIRST_PAGES);
  const known = useRef<{ of: string; status: string; pages: readonly Timeline[]; readings: number } | undefined>(undefined);
  useEffect(() => {
    if (runId === undefined) return undefined;
    const gone = new AbortController();
    // Once the run is in another status, all of it is read anew.
    const last = known.current;
    const { pages: before, readings } = last?.of === runId && last.status === status ? last : { pages: [], readings: 0 };
    timed(readPages(runId, { most: pages, before: settledPages(before, readings), signal: gone.signal })).then(
      (all) => {
        if (gone.signal.aborted) return undefined;
        known.current = { of: runId, status, pages: all, readings: readings + 1 };
        return setState({ of: runId, read: readTimeline(all) });
      },
      (error: unknown) => !gone.signal.aborted && setState(({ of, read }) => ({ of: runId, read: of === runId ? read : undefined, error })),
    );
    return () => gone.abort();
  }, [runId, round, pages]);
  // Calls of another run may have the same ids.
  const isOwn = state.of === runId;
  return { read: isOwn ? state.read : undefined, error: isOwn ? state.error : undefined, readOn: () => setPages(pages * 4) };
}

interface PagesToRead {
  /** The most pages. */
  most: number;
  /** The first pages, as they were read before. */
  before: readonly Timeline[];
  signal: AbortSignal;
}

/** Reads the first pages of a timeline, behind those that are taken as they were. */
async function readPages(runId: string, { most, before, signal }: PagesToRead): Promise<Timeline[]> {
  const pages = [...before];
  for (let from = pages.length === 0 ? 0 : pages.at(-1)?.next; pages.length < most && from !== undefined; from = pages.at(-1)?.next)
    pages.push(await ask('GET /v1/runs/{runId}/timeline', { params: { runId }, query: { from }, signal }));
  return pages;
}

function readTimeline(pages: readonly Timeline[]): ReadTimeline {
  const spans: TimelineSpan[] = pages.flatMap((page) => page.spans);
  const ms: Record<string, number> = {};
  for (const [kind, amount] of pages.flatMap((page) => Object.entries(page.ms))) ms[kind] = (ms[kind] ?? 0) + amount;
  const next = pages.at(-1)?.next;
  const calls = new Map<string, CallFacts>();
  const models = new Map<number, CallFacts>();
  for (const { kind, callId, step, runMs, attempts = 1, failures = [] } of spans) {
    const facts = { ms: runMs, attempts, failures };
    if ((kind === 'tool' || kind === 'child') && callId !== undefined) calls.set(callId, facts);
    if (kind === 'model' && step !== undefined) models.set(step, facts);
  }
  return { ms: ms as Timeline['ms'], calls, models, next };
}

/** The time of a run by kind: a bar, and its parts in words. */
export function TimeBar({ read, error, readOn }: ReturnType<typeof useTimeline>): JSX.Element {
  if (error !== undefined) return <ProblemNote error={error} />;
  const entries = Object.entries(TEXTS.timeKinds).flatMap(([kind, text]) => {
    const ms = read?.ms[kind as keyof Timeline['ms']] ?? 0;
    return ms >= 1 ? [{ kind, text, ms }] : [];
  });
  const total = entries.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <section aria-labelledby="time">
      <h3 id="time">{TEXTS.time}</h3>
      {total === 0 && <p class="dim">{read === undefined ? TEXTS.loading : TEXTS.noTime}</p>}
      <div class="bar" aria-hidden="true">
        {entries.map(({ kind, ms }) => (
          <span key={kind} class={`kind-${kind}`} style={{ flexGrow: Math.max(ms, total / 200) }} />
        ))}
      </div>
      <ul class="legend">
        {entries.map(({ kind, text, ms }) => (
          <li key={kind}>
            <span class={`swatch kind-${kind}`} aria-hidden="true" /> {text} {span(ms)}
          </li>
        ))}
      </ul>
      {read?.next !== undefined && (
        <p class="dim">
          {TEXTS.timePartial}{' '}
          <button type="button" onClick={readOn}>
            {TEXTS.readOn}
          </button>
        </p>
      )}
    </section>
  );
}

interface StepAmount {
  step: number;
  /** The address of the step of a program. */
  at?: string;
  tokens: number;
  cost: number | undefined;
}

/** Returns the tokens and the cost of each answer of the record. */
export function amounts(record: RunRecord): StepAmount[] {
  return record.rows.flatMap((row) => {
    if (row.kind !== 'answer' || row.event.usage === undefined) return [];
    return [{ step: row.number, at: row.at, ...spent(row.event.usage, row.event.estimated) }];
  });
}

/** The pause after which a chart is drawn, and drawn anew with what has come meanwhile, in milliseconds. */
const DRAWN_AFTER = 250;

/** The tokens and the cost of each step, as a chart and in words. */
export function AmountChart({ record, version }: { record: RunRecord; version: number }): JSX.Element | null {
  const place = useRef<HTMLDivElement>(null);
  const all = useMemo(() => amounts(record), [record, version]);
  const sums = useMemo(() => sumsOf(all), [all]);
  useChart(place, all);
  if (sums === undefined) return null;
  const { tokens, cost, most } = sums;
  return (
    <section aria-labelledby="amounts">
      <h3 id="amounts">{TEXTS.chart}</h3>
      <p class="dim">
        <Name of={TEXTS.chartText(TEXTS.tokens(tokens), costText(cost), most.at ?? TEXTS.theStep(most.step))} limit={300} />
      </p>
      <div class="chart" ref={place} role="img" aria-label={`${TEXTS.chart}: ${number(tokens)}`} />
    </section>
  );
}

/** Returns what the answers have used together, and the step that has used most; undefined for fewer than two, which are no chart. */
function sumsOf(all: readonly StepAmount[]): { tokens: number; cost: number | undefined; most: StepAmount } | undefined {
  if (all.length < 2) return undefined;
  const costs = all.flatMap(({ cost }) => (cost === undefined ? [] : [cost]));
  return {
    tokens: all.reduce((sum, one) => sum + one.tokens, 0),
    cost: costs.length === 0 ? undefined : costs.reduce((sum, one) => sum + one, 0),
    most: all.reduce((one, other) => (other.tokens > one.tokens ? other : one)),
  };
}

/** Draws the amounts, and draws them anew a moment after they change: the chart before stays until then, also of a run that never rests. */
function useChart(place: { current: HTMLElement | null }, all: readonly StepAmount[]): void {
  const newest = useRef(all);
  newest.current = all;
  const drawn = useRef<(() => void) | undefined>(undefined);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isGone = useRef(false);
  const draw = async (): Promise<void> => {
    const chart = await loadLazily(
      () => import('./chart.ts'),
      () => isGone.current,
    );
    soon.current = undefined;
    if (isGone.current || chart === undefined || place.current === null) return;
    drawn.current?.();
    drawn.current = chart.drawChart(place.current, newest.current);
  };
  useEffect(() => {
    if (all.length > 1) soon.current ??= setTimeout(() => void draw(), DRAWN_AFTER);
  }, [all]);
  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    // What is drawn keeps the colors of its time.
    const repaint = (): void => void (drawn.current !== undefined && draw());
    scheme.addEventListener('change', repaint);
    return () => {
      scheme.removeEventListener('change', repaint);
      isGone.current = true;
      clearTimeout(soon.current);
      drawn.current?.();
    };
  }, []);
}
