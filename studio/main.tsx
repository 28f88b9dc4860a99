import { signal } from '@preact/signals';
import { type JSX, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefTo, place } from './address.ts';
import { AgentPage, AgentsPage, ProgramPage } from './agents.tsx';
import { connection, hasKey, needsKey, takeKey } from './api.ts';
import { InboxPage } from './inbox.tsx';
import { beginLogin, endLogin } from './login.ts';
import { Note, ProblemNote, RunLink, useAnswer } from './parts.tsx';
import { PlaygroundPage } from './playground.tsx';
import { RequestPage } from './request.tsx';
import { RunPage } from './run.tsx';
import { RunsPage } from './runs.tsx';
import { begin, me, meError, restarts, waiting, waitsMore } from './caller.ts';
import { Name } from './text.tsx';
import { TEXTS } from './texts.ts';
import { isOutdated, missingParts } from './version.ts';
import './style.css';

/** Why the last log-in has failed. */
const loginError = signal<unknown>(undefined);

async function open(): Promise<void> {
  await endLogin().catch((error: unknown) => {
    loginError.value = error;
  });
  await begin();
}

function Studio(): JSX.Element {
  return (
    <>
      <a class="skip" href="#main" onClick={toMain}>
        {TEXTS.skip}
      </a>
      <Bar />
      {connection.value !== '' ? (
        <p class="lost" role="status">
          {TEXTS.connection[connection.value]}
        </p>
      ) : (
        (isOutdated.value || missingParts.value > 0) && (
          <p class="lost" role="status">
            {TEXTS.outdated}{' '}
            <button type="button" onClick={() => location.reload()}>
              {TEXTS.reload}
            </button>
          </p>
        )
      )}
      <main id="main" tabIndex={-1}>
        {needsKey.value ? (
          <KeyForm />
        ) : me.value !== undefined ? (
          <>
            {meError.value !== undefined && <ProblemNote error={meError.value} again={() => void begin()} />}
            <Page />
          </>
        ) : meError.value !== undefined ? (
          <ProblemNote error={meError.value} again={() => void begin()} />
        ) : (
          <p class="dim">{TEXTS.loading}</p>
        )}
      </main>
    </>
  );
}

/** The fragment of the address is the place of the reader: a link into the page must not change it. */
function toMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

/** The places of the page. A token for one run opens the first one alone. */
const PLACES = [
  ['runs', TEXTS.runs],
  ['inbox', TEXTS.inbox],
  ['playground', TEXTS.playground],
  ['agents', TEXTS.agents],
] as const;

function Bar(): JSX.Element {
  const [page = 'runs'] = place.value.path;
  const links = me.value?.runId === undefined ? PLACES : PLACES.slice(0, 1);
  const { id, name = id, namespace, uiUrl } = me.value ?? {};
  const count = waiting.value?.length ?? 0;
  return (
    <header class="bar-top">
      <strong class="brand">{TEXTS.title}</strong>
      <nav aria-label={TEXTS.nav}>
        {links.map(([key, text]) => (
          <a key={key} href={hrefTo([key])} aria-current={page === key || (page === 'programs' && key === 'agents') ? 'page' : undefined}>
            {text}
            {key === 'inbox' && count > 0 && (
              <>
                {' '}
                <span class="badge">{`${count}${waitsMore.value ? '+' : ''}`}</span>
                <span class="unseen"> {TEXTS.waitingDecisions(count)}</span>
              </>
            )}
          </a>
        ))}
      </nav>
      <span class="who">
        {name !== undefined && (
          <span title={id}>
            <Name of={TEXTS.caller(name, namespace ?? '')} />
          </span>
        )}
        {uiUrl !== undefined && (
          <a href={uiUrl} target="_blank" rel="noreferrer noopener">
            {TEXTS.temporal}
          </a>
        )}
        {hasKey() && !needsKey.value && (
          <button type="button" onClick={() => takeKey(undefined, { keep: false })}>
            {TEXTS.forgetKey}
          </button>
        )}
      </span>
    </header>
  );
}

function KeyForm(): JSX.Element {
  const [key, setKey] = useState('');
  const [keep, setKeep] = useState(false);
  const wasGiven = useRef(hasKey());
  const ways = useAnswer('GET /v1/login', {});
  const { oidc } = ways.value ?? {};
  // That of the page before says what waits.
  useEffect(() => {
    document.title = TEXTS.title;
  }, []);
  const logIn = (): void => {
    loginError.value = undefined;
    if (oidc === undefined) return;
    beginLogin(oidc, { keep }).catch((error: unknown) => {
      loginError.value = error;
    });
  };
  const use = (event: Event): void => {
    event.preventDefault();
    loginError.value = undefined;
    takeKey(key.trim(), { keep });
    void begin();
  };
  return (
    <form class="key" onSubmit={use} autocomplete="off">
      <h1>{TEXTS.keyTitle}</h1>
      {wasGiven.current && <Note tone="bad">{TEXTS.keyRefused}</Note>}
      {loginError.value !== undefined && <ProblemNote error={loginError.value} />}
      {ways.error !== undefined && <ProblemNote error={ways.error} again={ways.again} />}
      {oidc !== undefined && (
        <button type="button" class="good" onClick={logIn}>
          {TEXTS.logIn(new URL(oidc.authorizationEndpoint).host)}
        </button>
      )}
      <p>{TEXTS.keyHelp}</p>
      <label>
        {TEXTS.keyLabel}
        <input type="password" required autocomplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
      </label>
      <label class="check">
        <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
        {TEXTS.keepKey}
      </label>
      <button type="submit" class={oidc === undefined ? 'good' : undefined}>
        {TEXTS.useKey}
      </button>
    </form>
  );
}

function Page(): JSX.Element {
  const [page = 'runs', one = page === 'runs' ? me.value?.runId : undefined, kind, number, last] = place.value.path;
  useTitle(page, one);
  const step = page === 'runs' && kind === 'steps' ? stepOf(number) : undefined;
  // The next page would begin where the last one was scrolled to. A step is scrolled to by the run.
  useEffect(() => {
    if (step === undefined || last !== undefined) scrollTo(0, 0);
  }, [page === 'playground' ? one : place.value.path.join('/')]);
  if (page !== 'runs' && me.value?.runId !== undefined) return <OnlyRun runId={me.value.runId} />;
  switch (page) {
    case 'runs':
      if (one === undefined) return <RunsPage />;
      if (kind !== undefined && (step === undefined || (last !== undefined && last !== 'request')))
        return <Note tone="warn">{TEXTS.notFound}</Note>;
      if (step !== undefined && last === 'request') return <RequestPage key={`${one} ${step}`} runId={one} step={step} />;
      return <RunPage key={`${one} ${restarts.value}`} runId={one} step={step} />;
    case 'inbox':
      return <InboxPage />;
    case 'playground':
      return <PlaygroundPage agent={one} session={kind} />;
    case 'agents':
      return one === undefined ? <AgentsPage /> : <AgentPage name={one} />;
    case 'programs':
      return <ProgramPage name={one ?? ''} />;
    default:
      return <Note tone="warn">{TEXTS.notFound}</Note>;
  }
}

/** Returns the number of a step in an address. Undefined if it is none. */
function stepOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined;
}

/** What a reader sees at a place that a token for one run does not open. */
function OnlyRun({ runId }: { runId: string }): JSX.Element {
  return (
    <Note tone="warn">
      {TEXTS.onlyRun}{' '}
      <RunLink runId={runId}>
        <Name of={runId} />
      </RunLink>
    </Note>
  );
}

function useTitle(page: string, one: string | undefined): void {
  const count = waiting.value?.length ?? 0;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${one ?? page} · ${TEXTS.title}`;
  }, [page, one, count]);
}

const app = document.querySelector('#app');
if (app !== null) {
  // What the page asks for first is on its way while it is drawn.
  void open();
  render(<Studio />, app);
}
