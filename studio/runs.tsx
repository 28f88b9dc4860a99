import { Fragment, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { hrefTo, place, setQuery } from './address.ts';
import { ask } from './api.ts';
import type { RunEntry } from './api-types.ts';
import { dollars, number, span, STATUSES, statusText } from './format.ts';
import { changed, pauseBefore, renewed, type RunPages } from './listing.ts';
import { Moment, Note, ProblemNote, Status, useAnswer } from './parts.tsx';
import { may, me, onFeed } from './caller.ts';
import { Chats } from './playground.tsx';
import { Line, Name } from './text.tsx';
import { waitName } from './notes.ts';
import { TEXTS } from './texts.ts';

const PAGE = 50;

type Filters = Readonly<Record<string, string | undefined>>;

/** The filters of the address that the list takes. */
function filtersOf({ agent, status, tag, user, tenant, waiting, sort }: Filters): Filters {
  return { agent, status, tag, user, tenant, waiting, sort };
}

export function RunsPage(): JSX.Element {
  const filters = filtersOf(place.value.query);
  return (
    <>
      <h1>{TEXTS.runs}</h1>
      <FilterBar filters={filters} />
      <RunList key={JSON.stringify(filters)} filters={filters} />
    </>
  );
}

function FilterBar({ filters }: { filters: Filters }): JSX.Element {
  const agents = useAnswer('GET /v1/agents', {});
  const { agent, status, tag, user, tenant, waiting, sort = 'started' } = filters;
  const names = agents.value?.agents.map(({ name }) => name) ?? [];
  const known = agent === undefined || names.includes(agent) ? names : [...names, agent];
  const isOperator = me.value?.principal === 'all';
  return (
    <form class="filters" aria-label={TEXTS.filters} onSubmit={(event) => event.preventDefault()}>
      <Choice label={TEXTS.agent} value={agent} none={TEXTS.anyAgent} options={known.map((name) => [name, name])} name="agent" />
      <Choice
        label={TEXTS.status}
        value={status}
        none={TEXTS.anyStatus}
        options={STATUSES.map((one) => [one, statusText(one)])}
        name="status"
      />
      <Words label={TEXTS.tag} value={tag} name="tag" />
      {isOperator && <Words label={TEXTS.user} value={user} name="user" />}
      {isOperator && <Words label={TEXTS.tenant} value={tenant} name="tenant" />}
      <Choice label={TEXTS.order} value={sort} options={Object.entries(TEXTS.sorts)} name="sort" />
      <label class="check">
        <input
          type="checkbox"
          checked={waiting === 'true'}
          onChange={(event) => setQuery({ waiting: event.currentTarget.checked ? 'true' : undefined })}
        />
        {TEXTS.waitingOnly}
      </label>
      {Object.values(filters).some((value) => value !== undefined) && <a href={hrefTo(['runs'])}>{TEXTS.clear}</a>}
    </form>
  );
}

interface ChoiceOptions {
  label: string;
  name: string;
  value: string | undefined;
  none?: string;
  options: readonly (readonly [string, string])[];
}

function Choice({ label, name, value, none, options }: ChoiceOptions): JSX.Element {
  return (
    <label>
      {label}
      <select value={value ?? ''} onChange={(event) => setQuery({ [name]: event.currentTarget.value || undefined })}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The pause in which a reader writes the next letter, in milliseconds. */
const WRITTEN_AFTER = 400;

/** A filter that is written. It applies once its reader pauses or leaves the field, also when the field is emptied. */
function Words({ label, name, value = '' }: { label: string; name: string; value: string | undefined }): JSX.Element {
  const [words, setWords] = useState(value);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A link may name others. What is written is kept with its spaces.
  useLayoutEffect(() => setWords((now) => (now.trim() === value ? now : value)), [value]);
  useEffect(() => () => clearTimeout(soon.current), []);
  const apply = (now: string): void => {
    clearTimeout(soon.current);
    // A browser tells of a change also when the field goes: somewhere else it is no filter.
    const [page = 'runs', one] = place.peek().path;
    if (page === 'runs' && one === undefined) setQuery({ [name]: now.trim() || undefined });
  };
  const write = (now: string): void => {
    setWords(now);
    clearTimeout(soon.current);
    soon.current = setTimeout(() => apply(now), WRITTEN_AFTER);
  };
  return (
    <label>
      {label}
      <input
        type="search"
        size={10}
        value={words}
        onInput={(event) => write(event.currentTarget.value)}
        onChange={(event) => apply(event.currentTarget.value)}
      />
    </label>
  );
}

interface FedRuns {
  state: RunPages | undefined;
  error: unknown;
  /** Counts how often the first page was read anew. */
  round: number;
  again: () => void;
  more: () => void;
}

/** Reads the runs that match, whose entries change with the feed. */
function useRuns(filters: Filters): FedRuns {
  const [state, setState] = useState<RunPages>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  const load = (signal: AbortSignal, cursor?: string): Promise<void> =>
    ask('GET /v1/runs', { query: { ...filters, amounts: 'true', limit: PAGE, cursor } as never, signal }).then(
      ({ runs, next, cut }) => {
        if (signal.aborted) return undefined;
        setError(undefined);
        return setState((before) =>
          cursor === undefined ? renewed(before, { runs, next, cut }) : { runs: [...(before?.runs ?? []), ...runs], next, cut },
        );
      },
      (failure: unknown) => (signal.aborted ? undefined : setError(failure)),
    );
  const loadedAt = useRef(0);
  useEffect(() => {
    loadedAt.current = Date.now();
    const gone = new AbortController();
    void load(gone.signal);
    return () => gone.abort();
  }, [round]);
  // One page at a time: two would both be put behind the same one.
  const reading = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => reading.current?.abort(), []);
  const more = async (): Promise<void> => {
    if (reading.current !== undefined) return;
    const gone = (reading.current = new AbortController());
    await load(gone.signal, state?.next);
    reading.current = undefined;
  };
  useEffect(() => {
    let soon: ReturnType<typeof setTimeout> | undefined;
    const end = onFeed((items) => {
      setState((before) => before && { ...before, runs: before.runs.map((run) => changed(run, items)) });
      // The amounts of what has ended, and the place of what has begun, are the service's to say.
      if (items.some(({ type }) => type !== 'decided'))
        soon ??= setTimeout(
          () => {
            soon = undefined;
            setRound((one) => one + 1);
          },
          pauseBefore({ least: 400, every: 2_000, sinceMs: Date.now() - loadedAt.current }),
        );
    });
    return () => {
      clearTimeout(soon);
      end();
    };
  }, []);
  return { state, error, round, again: () => setRound(round + 1), more: () => void more() };
}

/** The list, whose entries change with the feed. */
function RunList({ filters }: { filters: Filters }): JSX.Element {
  const { state, error, round, again, more } = useRuns(filters);
  if (error !== undefined && state === undefined) return <ProblemNote error={error} again={again} />;
  if (state === undefined) return <p class="dim">{TEXTS.loading}</p>;
  const hasFilters = Object.entries(filters).some(([key, value]) => value !== undefined && key !== 'sort');
  return (
    <>
      <Counts filters={filters} round={round} />
      {error !== undefined && <ProblemNote error={error} again={again} />}
      {state.runs.length > 0 ? <RunTable runs={state.runs} /> : hasFilters ? <Note>{TEXTS.noRunsFound}</Note> : <NoRuns />}
      {state.cut && <Note>{TEXTS.cut}</Note>}
      {state.next !== undefined && (
        <button type="button" onClick={more}>
          {TEXTS.next}
        </button>
      )}
    </>
  );
}

/** The list of a service without a run: a newcomer begins with a chat, and sees each step next to it. */
function NoRuns(): JSX.Element {
  return (
    <>
      <Note>{TEXTS.noRuns}</Note>
      {may('runs:write') && <Chats agent={undefined} session={undefined} />}
    </>
  );
}

/** The numbers of runs by status, each a filter. */
function Counts({ filters, round }: { filters: Filters; round: number }): JSX.Element {
  const { agent, tag, user, tenant } = filters;
  const counts = useAnswer('GET /v1/runs/counts', { query: { by: 'status', agent, tag, user, tenant } as never });
  useEffect(() => {
    if (round > 0) counts.again();
  }, [round]);
  if (counts.value === undefined && counts.error !== undefined) return <ProblemNote error={counts.error} again={counts.again} />;
  if (counts.value === undefined) return <p class="counts dim">…</p>;
  const { total, counts: all } = counts.value;
  return (
    <ul class="counts">
      <li>{TEXTS.counted(total)}</li>
      {all
        .filter(({ runs }) => runs > 0)
        .map(({ value, runs }) => (
          <li key={value}>
            <a href={hrefTo(['runs'], { ...filters, status: value })}>
              <Status of={value} /> {number(runs)}
            </a>
          </li>
        ))}
    </ul>
  );
}

function RunTable({ runs }: { runs: readonly RunEntry[] }): JSX.Element {
  const { columns } = TEXTS;
  return (
    <div class="wide" role="region" aria-label={TEXTS.runs} tabIndex={0}>
      <table class="runs">
        <thead>
          <tr>
            {Object.entries(columns).map(([key, text]) => (
              <th key={key} scope="col" class={['steps', 'tokens', 'cost', 'duration'].includes(key) ? 'amount' : undefined}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.runId} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunRow({ run }: { run: RunEntry }): JSX.Element {
  const { runId, kind, agentName, title, status, waitingFor, tenant, user, startTime, steps, tokens, cost, durationMs } = run;
  return (
    <tr>
      <td>
        <a href={hrefTo(['runs', runId])} class="runlink">
          <strong>
            <Name of={agentName ?? runId} limit={60} />
          </strong>
          {kind === 'program' && <span class="tag">{TEXTS.program}</span>}
          <small>{title === undefined ? <Name of={runId} limit={80} /> : <Line of={title} limit={80} />}</small>
        </a>
      </td>
      <td>
        <Status of={status} />
      </td>
      <td>
        {waitingFor.map((tool, index) => (
          <Fragment key={index}>
            {index > 0 && ', '}
            <Name of={waitName(tool)} limit={40} />
          </Fragment>
        ))}
      </td>
      <td class="who-for">
        {tenant !== undefined && (
          <small>
            <Name of={tenant} limit={40} />
            {user !== undefined && ' / '}
          </small>
        )}
        <Name of={user} limit={40} />
      </td>
      <td>
        <Moment of={startTime} />
      </td>
      <td class="amount">{number(steps)}</td>
      <td class="amount">{number(tokens)}</td>
      <td class="amount">{dollars(cost)}</td>
      <td class="amount">{durationMs === undefined ? '' : span(durationMs)}</td>
    </tr>
  );
}
