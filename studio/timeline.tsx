import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from './api.ts';
import type { Timeline, TimelineSpan } from './api-types.ts';
import { loadLazily } from './lazy.ts';
import { costText, number, span } from './format.ts';
import { dueIn, FIRST_PAGES, type Reading } from './pace.ts';
import { ProblemNote } from './parts.tsx';
import type { RunRecord } from './record.ts';
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
  /** Notes how long a part of the reading takes. Returns the work. */
  timed: <Value>(work: Promise<Value>) => Promise<Value>;
}

export function useFacts({ status, answers }: RunRecord): RunFacts {
  const [round, setRound] = useState(0);
  const [ended, setEnded] = useState(0);
  const read = useRef<Reading>({ status, answers, endedAt: 0, ms: 0 });
  const parts = useRef(0);
  useEffect(() => {
    const due = dueIn(read.current, { status, answers }, Date.now());
    if (due === undefined) return undefined;
    const timer = setTimeout(() => {
      read.current = { ...read.current, status, answers };
      setRound((before) => before + 1);
    }, due);
    return () => clearTimeout(timer);
  }, [status, answers, ended]);
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
  return { round, timed };
}

/** Reads the timeline of a run, if there is one. */
export function useTimeline(
  runId: string | undefined,
  { round, timed }: RunFacts,
): { read: ReadTimeline | undefined; error: unknown; readOn: () => void } {
  const [read, setRead] = useState<ReadTimeline>();
  const [error, setError] = useState<unknown>();
  const [pages, setPages] = useState(FIRST_PAGES);
  useEffect(() => {
    if (runId === undefined) return undefined;
    const gone = new AbortController();
    timed(readPages(runId, pages, gone.signal)).then(
      (found) => {
        setRead(found);
        return setError(undefined);
      },
      (failure: unknown) => !gone.signal.aborted && setError(failure),
    );
    return () => gone.abort();
  }, [runId, round, pages]);
  return { read, error, readOn: () => setPages(pages * 4) };
}

async function readPages(runId: string, pages: number, signal: AbortSignal): Promise<ReadTimeline> {
  const spans: TimelineSpan[] = [];
  const ms: Record<string, number> = {};
  let next: number | undefined = 0;
  for (let page = 0; page < pages && next !== undefined; page += 1) {
    const answer: Timeline = await ask('GET /v1/runs/{runId}/timeline', { params: { runId }, query: { from: next }, signal });
    spans.push(...answer.spans);
    for (const [kind, amount] of Object.entries(answer.ms)) ms[kind] = (ms[kind] ?? 0) + amount;
    next = answer.next;
  }
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
  tokens: number;
  cost: number | undefined;
}

/** Returns the tokens and the cost of each answer of the record. */
export function amounts(record: RunRecord): StepAmount[] {
  return record.rows.flatMap((row) => {
    if (row.kind !== 'answer' || row.event.usage === undefined) return [];
    const { usage, estimated } = row.event;
    return [
      { step: row.number, tokens: (usage?.totalTokens ?? 0) + (estimated?.totalTokens ?? 0), cost: usage?.costUsd ?? estimated?.costUsd },
    ];
  });
}

/** The pause after which a chart is drawn, in milliseconds. */
const DRAWN_AFTER = 250;

/** The tokens and the cost of each step, as a chart and in words. */
export function AmountChart({ record, version }: { record: RunRecord; version: number }): JSX.Element | null {
  const place = useRef<HTMLDivElement>(null);
  const all = useMemo(() => amounts(record), [record, version]);
  useEffect(() => {
    const { current } = place;
    if (current === null || all.length < 2) return undefined;
    let end = (): void => undefined;
    let isGone = false;
    const draw = async (): Promise<void> => {
      const chart = await loadLazily(
        () => import('./chart.ts'),
        () => isGone,
      );
      if (!isGone && chart !== undefined) end = chart.drawChart(current, all);
    };
    // A record that is being read grows many times a second.
    const soon = setTimeout(() => void draw(), DRAWN_AFTER);
    return () => {
      clearTimeout(soon);
      isGone = true;
      end();
    };
  }, [version, all.length]);
  if (all.length < 2) return null;
  const tokens = all.reduce((sum, one) => sum + one.tokens, 0);
  const costs = all.flatMap(({ cost }) => (cost === undefined ? [] : [cost]));
  const cost = costs.length === 0 ? undefined : costs.reduce((sum, one) => sum + one, 0);
  const most = all.reduce((one, other) => (other.tokens > one.tokens ? other : one));
  return (
    <section aria-labelledby="amounts">
      <h3 id="amounts">{TEXTS.chart}</h3>
      <p class="dim">{TEXTS.chartText(TEXTS.tokens(tokens), costText(cost), most.step)}</p>
      <div class="chart" ref={place} role="img" aria-label={`${TEXTS.chart}: ${number(tokens)}`} />
    </section>
  );
}
