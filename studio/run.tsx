import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { ask, connection, Refused } from './api.ts';
import type { RunStatus, RunTree, StatusView } from './api-types.ts';
import { RunControls } from './controls.tsx';
import { endingTexts } from './ending.ts';
import { costText, number, span, spent, tone } from './format.ts';
import { Graph } from './graph.tsx';
import { agentGraph, hasOthers, programGraph } from './graph-parts.ts';
import { useOthers } from './others.ts';
import { Approvals } from './inbox.tsx';
import { callWaits, waitsOf } from './now.ts';
import { isBegunAgain } from './listing.ts';
import { Fold, type Loaded, Moment, ProblemNote, RunLink, Status, useAnswer } from './parts.tsx';
import type { RunRecord } from './record.ts';
import { listWaiting, me, onFeed, restarts, waiting } from './caller.ts';
import { EndedFromOutside, Steps } from './steps.tsx';
import { Json, Line, Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';
import { AmountChart, TimeBar, useFacts, useTimeline } from './timeline.tsx';
import { useRecord } from './use-record.ts';

const ENDED = new Set(['completed', 'max_iterations_reached', 'limit_reached', 'error', 'cancelled']);

/** Reads a run, and reads again what changes without being in its record. */
function useRun(runId: string) {
  const followed = useRecord(runId);
  const { record } = followed;
  const facts = useFacts(runId, record);
  const timeline = useTimeline(runId, facts);
  const status = useAnswer('GET /v1/runs/{runId}', { params: { runId } }, facts.timed);
  const tree = useAnswer('GET /v1/runs/{runId}/tree', { params: { runId } }, facts.timed);
  const readAgain = (): void => {
    status.again();
    tree.again();
  };
  useAgain(facts.round, () => {
    readAgain();
    // Without a feed, the run itself says that something begins or ends to wait.
    if (me.value?.runId !== undefined) void listWaiting();
  });
  useBegunAgain(runId, record.isOver ? (record.result?.endTime ?? null) : undefined);
  return { ...followed, timeline, status, tree, readAgain };
}

export function RunPage({ runId, step }: { runId: string; step: number | undefined }): JSX.Element {
  const { record, version, error, timeline, status, tree, readAgain } = useRun(runId);
  const here = record.status || status.value?.status || '';
  const isOver = ENDED.has(here);
  useLooks(here, status.again);
  const asked = waiting.value?.filter((one) => isBelow(one.runId, runId)) ?? [];
  const own = asked.filter((one) => one.runId === runId);
  // The steps are drawn anew only if something else waits.
  const waits = useMemo(
    () => callWaits(isOver ? undefined : status.value, own),
    [isOver, JSON.stringify([status.value?.postponed, own.map(({ callId }) => callId)])],
  );
  const failure = status.error ?? tree.error;
  // The service says at once, and only once, why there is nothing to show.
  if (status.error !== undefined && status.value === undefined && record.rows.length === 0)
    return (
      <>
        <Heading runId={runId} status={undefined} view={undefined} />
        <ProblemNote error={status.error} again={status.again} />
      </>
    );
  return (
    <>
      <Heading runId={runId} status={here || undefined} view={status.value} />
      {failure !== undefined && !isAway(failure) && <ProblemNote error={failure} again={readAgain} />}
      {error !== undefined && <ProblemNote error={error} />}
      {!isOver && <Waits view={status.value} status={here} isAsked={asked.length > 0} />}
      <Approvals of={asked} />
      <div class="columns">
        <div>
          {tree.value !== undefined && <Trace tree={tree.value} record={record} version={version} />}
          <Steps
            runId={runId}
            {...{ record, version, waits, error }}
            timeline={timeline.read}
            isEmpty={status.value?.events === 0}
            at={step}
          />
          <Ending record={record} version={version} />
          <EndedFromOutside record={record} />
        </div>
        <aside aria-label={TEXTS.run}>
          <Controls runId={runId} tree={tree} status={here || undefined} />
          <Facts view={status.value} tree={tree.value} record={record} />
          <TimeBar {...timeline} />
          <AmountChart record={record} version={record.answers} />
          {tree.value !== undefined && tree.value.children.length > 0 && <Below tree={tree.value} />}
        </aside>
      </div>
    </>
  );
}

/** True if the service or its server was down: the page says so at the top, and reads again by itself afterwards. */
function isAway(failure: unknown): boolean {
  return failure instanceof Refused && failure.problem.code === 'server_unreachable';
}

/** The pauses between two looks at a run that is at work and records nothing, in milliseconds: the last one again and again. */
const LOOKS = [3_000, 5_000, 10_000, 20_000, 60_000];

/** Looks again at a run that is at work: what it waits for, such as a provider that refuses it, is not in its record. */
function useLooks(status: string | undefined, look: () => void): void {
  const newest = useRef(look);
  newest.current = look;
  useEffect(() => {
    if (status !== 'running' && status !== 'paused') return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const wait = (looks: number): void => {
      timer = setTimeout(
        () => {
          if (!document.hidden && connection.peek() === '') newest.current();
          wait(looks + 1);
        },
        LOOKS[Math.min(looks, LOOKS.length - 1)],
      );
    };
    wait(0);
    return () => clearTimeout(timer);
  }, [status]);
}

/** Calls back when a number changes, but not at first. */
function useAgain(moved: number, again: () => void): void {
  const before = useRef(moved);
  useEffect(() => {
    if (before.current !== moved) again();
    before.current = moved;
  }, [moved]);
}

/** Reads the record of a run that has ended from its beginning once somebody else has retried it: its stream is over, and does not tell. */
function useBegunAgain(runId: string, endTime: string | null | undefined): void {
  const shown = useRef(endTime);
  shown.current = endTime;
  useEffect(
    () =>
      onFeed((items) => {
        if (shown.current !== undefined && isBegunAgain(items, { runId, endTime: shown.current })) restarts.value += 1;
      }),
    [runId],
  );
  // A run token has no feed, and a page that was in the background for long may have missed its news.
  useEffect(() => {
    const gone = new AbortController();
    const look = async (): Promise<void> => {
      if (document.hidden || shown.current === undefined) return;
      const { status } = await ask('GET /v1/runs/{runId}', { params: { runId }, signal: gone.signal });
      if (!gone.signal.aborted && shown.current !== undefined && !ENDED.has(status)) restarts.value += 1;
    };
    // What is wrong with the service is said by what the page asks for besides.
    document.addEventListener('visibilitychange', () => void look().catch(() => undefined), { signal: gone.signal });
    return () => gone.abort();
  }, [runId]);
}

/** True for the run itself and those below it. */
function isBelow(id: string | undefined, runId: string): boolean {
  return id === runId || id?.startsWith(`${runId}/`) === true;
}

/** The controls, once it is known what a run of this kind takes. */
function Controls({
  runId,
  tree: { value, error },
  status,
}: {
  runId: string;
  tree: Loaded<RunTree>;
  status: string | undefined;
}): JSX.Element | null {
  if (value === undefined && error === undefined) return null;
  const isOver = status !== undefined && ENDED.has(status);
  return <RunControls runId={runId} isOver={isOver} isProgram={value?.kind === 'program'} status={status} />;
}

function Heading({ runId, status, view }: { runId: string; status: string | undefined; view: StatusView | undefined }): JSX.Element {
  const isOver = status !== undefined && ENDED.has(status);
  return (
    <header class="title">
      <h1>
        <Name of={view?.agentName ?? TEXTS.run} />
        {view?.currentAgent !== undefined && view.currentAgent !== view.agentName && (
          <span class="now">
            {' → '}
            <Name of={view.currentAgent} />
          </span>
        )}{' '}
        {status !== undefined && <Status of={status} />}
      </h1>
      <Place runId={runId} />
      {view?.about.question !== undefined && (
        <p>
          <Line of={view.about.question} limit={300} />
        </p>
      )}
      {view?.lastError !== undefined && !isOver && (
        <div class="note warn">
          <h3>{TEXTS.lastError}</h3>
          <Text of={view.lastError} limit={800} />
        </div>
      )}
    </header>
  );
}

/** The id of a run, the run that has started it, and its place in the Temporal UI. */
function Place({ runId }: { runId: string }): JSX.Element {
  const { uiUrl, namespace = '' } = me.value ?? {};
  const parent = runId.includes('/') ? runId.slice(0, runId.lastIndexOf('/')) : undefined;
  return (
    <p class="dim">
      <Name of={runId} limit={200} />
      {parent !== undefined && (
        <>
          {' '}
          · {TEXTS.below}{' '}
          <RunLink runId={parent}>
            <Name of={parent} />
          </RunLink>
        </>
      )}
      {uiUrl !== undefined && (
        <>
          {' · '}
          <a
            href={`${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(runId)}`}
            target="_blank"
            rel="noreferrer noopener"
          >
            {TEXTS.temporal}
          </a>
        </>
      )}
    </p>
  );
}

function treeSize({ children }: RunTree): number {
  return children.reduce((sum, child) => sum + treeSize(child), 1);
}

/** The amounts of the run, summed over the tree, as `longhaul show` has them. */
function Facts({ view, tree, record }: { view: StatusView | undefined; tree: RunTree | undefined; record: RunRecord }): JSX.Element | null {
  if (view === undefined) return null;
  const usage = tree?.treeUsage ?? view.treeUsage ?? view.usage;
  const { tokens, cost } = spent(usage);
  const { startTime, about, currentStep, toolCallsTotal, limits } = view;
  const seconds = record.result?.durationSeconds;
  const facts: [string, JSX.Element | string | undefined][] = [
    [TEXTS.columns.steps, `${number(currentStep)}${limits === undefined ? '' : ` / ${number(limits.steps)}`}`],
    [TEXTS.columns.tokens, `${number(tokens)}${tree !== undefined && treeSize(tree) > 1 ? ` ${TEXTS.tree(treeSize(tree))}` : ''}`],
    [TEXTS.columns.cost, usage.llmCalls === 0 ? undefined : costText(cost)],
    [TEXTS.toolCalls, number(toolCallsTotal)],
    [TEXTS.columns.started, <Moment of={startTime} />],
    [TEXTS.columns.duration, seconds === undefined || seconds === null ? undefined : span(seconds * 1_000)],
    [TEXTS.user, about.user === undefined ? undefined : <Name of={about.user} />],
    [TEXTS.tenant, about.tenant === undefined ? undefined : <Name of={about.tenant} />],
    [TEXTS.tag, about.tags === undefined ? undefined : <Name of={about.tags.join(', ')} />],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** A part that shows the record. It is drawn anew with `version`: the record is the same object from the beginning to the end. */
interface RecordPart {
  record: RunRecord;
  version: number;
}

/** What the run has come to, and why. */
function Ending({ record }: RecordPart): JSX.Element | null {
  const { result } = record;
  if (result === undefined) return null;
  const { status, endTime, durationSeconds, output } = result;
  const texts = endingTexts(result);
  const look = tone(status);
  const length = durationSeconds === null ? undefined : span(durationSeconds * 1_000);
  const hasOutput = output !== null && output !== '';
  return (
    <section class="row ending" aria-labelledby="ending">
      <h2 id="ending">
        {TEXTS.ended} <Status of={status} />{' '}
        {endTime !== null && (
          <small class="dim">
            <Moment of={endTime} />
            {length !== undefined && TEXTS.endedAfter(length)}
          </small>
        )}
      </h2>
      {texts.map((text) => (
        <div key={text} class={`note ${look === 'good' ? 'calm' : look}`}>
          <Text of={text} />
        </div>
      ))}
      {hasOutput ? (
        <>
          <h3>{status === 'completed' || result.guardrail !== undefined ? TEXTS.output : TEXTS.partialOutput}</h3>
          {typeof output === 'string' ? <Text of={output} /> : <Json of={output} />}
        </>
      ) : (
        <p class="dim">{status === 'completed' ? TEXTS.emptyOutput : TEXTS.noOutput}</p>
      )}
    </section>
  );
}

/** What the run waits for, if it does. What waits for a decision is shown with its form. */
function Waits({ view, status, isAsked }: { view: StatusView | undefined; status: string; isAsked: boolean }): JSX.Element | null {
  // The stream of the run knows its status before anything else is read.
  const waits = view === undefined ? [] : waitsOf({ ...view, status: status as RunStatus }, { now: Date.now(), isAsked });
  if (waits.length === 0) return null;
  return (
    <section class={`note waits ${waits.some((one) => one.tone === 'warn') ? 'warn' : 'calm'}`} aria-label={TEXTS.waitsNow} role="status">
      {waits.map(({ text }) => (
        <Text key={text} of={text} limit={800} />
      ))}
    </section>
  );
}

/** The run as a graph, if the service has its definition. */
function Trace({ tree: { kind, agentName }, ...part }: RecordPart & { tree: RunTree }): JSX.Element | null {
  if (kind === 'program' && me.value?.runId === undefined) return <ProgramTrace name={agentName} {...part} />;
  return kind === 'agent' && me.value?.features.agents ? <AgentTrace name={agentName} {...part} /> : null;
}

/** The program of the run as a graph, with what has become of its steps. A service without it shows the steps alone. */
function ProgramTrace({ name, record }: RecordPart & { name: string }): JSX.Element | null {
  const program = useAnswer('GET /v1/programs/{program}', { params: { program: name } });
  const { document } = program.value ?? {};
  const graph = useMemo(() => document && programGraph(document, record), [document, record, record.revision]);
  return graph === undefined ? null : <Graph {...graph} label={TEXTS.trace} />;
}

/** The agents of the run as a graph, if it is a flow or may be handed over, with the steps of each. */
function AgentTrace({ name, record }: RecordPart & { name: string }): JSX.Element | null {
  const { value } = useAnswer('GET /v1/agents/{agent}', { params: { agent: name } });
  const isShown = value !== undefined && hasOthers(value);
  const others = useOthers(isShown ? value : undefined);
  const graph = useMemo(() => (isShown ? agentGraph(value, { others, record }) : undefined), [value, others, record, record.revision]);
  return graph === undefined ? null : <Graph {...graph} label={TEXTS.trace} />;
}

/** The runs below, as an indented tree. */
function Below({ tree }: { tree: RunTree }): JSX.Element {
  return (
    <Fold title={TEXTS.tree(treeSize(tree))} open>
      {() => <Branch runs={tree.children} />}
    </Fold>
  );
}

function Branch({ runs }: { runs: readonly RunTree[] }): JSX.Element {
  return (
    <ul class="branch">
      {runs.map(({ runId, agentName, status, treeUsage, children }) => (
        <li key={runId}>
          <RunLink runId={runId}>
            <Name of={agentName} />
          </RunLink>{' '}
          <Status of={status} /> <span class="dim">{TEXTS.tokens(spent(treeUsage).tokens)}</span>
          {children.length > 0 && <Branch runs={children} />}
        </li>
      ))}
    </ul>
  );
}
