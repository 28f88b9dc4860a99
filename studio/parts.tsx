import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { hrefTo } from './address.ts';
import { ask, Refused, type RequestOf } from './api.ts';
import type { Operations } from './api-types.ts';
import { reaches } from './caller.ts';
import { moment, statusText, tone, wholeMoment } from './format.ts';
import { Text } from './text.tsx';
import { TEXTS } from './texts.ts';

// What several pages use.

export function Status({ of: status }: { of: string | undefined }): JSX.Element {
  return <span class={`status ${tone(status)}`}>{statusText(status)}</span>;
}

/** A moment, with its day and its time zone as the tooltip. */
export function Moment({ of: iso, class: look }: { of: string; class?: string }): JSX.Element {
  return (
    <time class={look} dateTime={iso} title={wholeMoment(iso)}>
      {moment(iso)}
    </time>
  );
}

/** Says what has gone wrong, in the words of the service. */
export function ProblemNote({ error, again }: { error: unknown; again?: () => void }): JSX.Element {
  const code = error instanceof Refused ? error.problem.code : '';
  const fields = error instanceof Refused ? (error.problem.errors ?? []) : [];
  return (
    <div class="note bad" role="alert">
      <strong>{code === '' ? TEXTS.failed : TEXTS.problem(code)}</strong>
      <Text of={explained(code, error)} />
      {fields.map(({ pointer = '', parameter = '', detail }, index) => (
        <Text key={index} of={`${pointer}${parameter}: ${detail}`} />
      ))}
      {again !== undefined && (
        <button type="button" onClick={again}>
          {TEXTS.again}
        </button>
      )}
    </div>
  );
}

/** The problems of a service that cannot decode what the workers have written. */
const UNREADABLE = new Set(['encryption_key_missing', 'decryption_failed', 'decompression_failed', 'history_unreadable']);

function explained(code: string, error: unknown): string {
  const detail = error instanceof Error ? error.message : String(error);
  if (code === 'history_removed') return `${TEXTS.removed} ${detail}`;
  if (UNREADABLE.has(code)) return `${TEXTS.unreadable} ${detail}`;
  return detail;
}

export function Note({ children, tone: look = 'calm' }: { children: ComponentChildren; tone?: string }): JSX.Element {
  return (
    <p class={`note ${look}`} role="status">
      {children}
    </p>
  );
}

/** Leads to a run, if the reader reaches it. */
export function RunLink({ runId, children }: { runId: string; children: ComponentChildren }): JSX.Element {
  return reaches(runId) ? <a href={hrefTo(['runs', runId])}>{children}</a> : <>{children}</>;
}

/** What a request has brought so far. */
export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  /** Sends the request anew. */
  again: () => void;
}

type Name = keyof Operations;

/**
 * Asks the service for something that a part shows, anew whenever the request changes. Undefined: nothing is asked for yet. `timed` gets each
 * request, and returns it.
 */
export function useAnswer<Of extends Name>(
  name: Of,
  request: RequestOf<Of> | undefined,
  timed: <Value>(work: Promise<Value>) => Promise<Value> = (work) => work,
): Loaded<Operations[Of]['answer']> {
  const [state, setState] = useState<{ key: string; value?: Operations[Of]['answer']; error?: unknown }>({ key: '' });
  const [round, setRound] = useState(0);
  const key = request === undefined ? '' : JSON.stringify([name, request]);
  // It is on its way before the part is painted.
  useLayoutEffect(() => {
    if (request === undefined) return undefined;
    const gone = new AbortController();
    timed(ask(name, { ...request, signal: gone.signal })).then(
      (value) => setState({ key, value }),
      (error: unknown) => {
        if (!gone.signal.aborted) setState(({ key: of, value }) => ({ key, value: of === key ? value : undefined, error }));
      },
    );
    return () => gone.abort();
  }, [key, round]);
  const isOwn = state.key === key;
  return {
    value: isOwn ? state.value : undefined,
    error: isOwn ? state.error : undefined,
    again: () => setRound((before) => before + 1),
  };
}

/** Shows what a request has brought, why it has not, or that it is on its way. */
export function Answer<Value>({ of: loaded, children }: { of: Loaded<Value>; children: (value: Value) => JSX.Element }): JSX.Element {
  if (loaded.value !== undefined) return children(loaded.value);
  if (loaded.error !== undefined) return <ProblemNote error={loaded.error} again={loaded.again} />;
  return <p class="dim">{TEXTS.loading}</p>;
}

interface FoldOptions {
  title: ComponentChildren;
  children: () => ComponentChildren;
  open?: boolean;
  /** The classes of the part, and of its title. */
  class?: string;
  titleClass?: string;
  /** Is told whenever the reader opens or closes the part. */
  onToggle?: (isOpen: boolean) => void;
}

/** A part that opens. Its content is made when it is open, and not before. */
export function Fold({ title, children, open = false, class: look, titleClass, onToggle }: FoldOptions): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  const toggle = (event: { currentTarget: HTMLDetailsElement }): void => {
    const { open: isNow } = event.currentTarget;
    // Browsers also tell of a part that is open from the beginning.
    if (isNow === isOpen) return;
    setOpen(isNow);
    onToggle?.(isNow);
  };
  return (
    <details open={isOpen} class={look} onToggle={toggle}>
      <summary class={titleClass}>{title}</summary>
      {isOpen && children()}
    </details>
  );
}

/** A request that a reader sends by a button, with what has come of it. */
export function useAction(): { busy: boolean; outcome: JSX.Element | undefined; act: (work: () => Promise<string>) => void } {
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<JSX.Element>();
  const act = (work: () => Promise<string>): void => {
    setBusy(true);
    work()
      .then(
        (text) => setOutcome(<Note tone="good">{text}</Note>),
        (error: unknown) => setOutcome(<ProblemNote error={error} />),
      )
      .finally(() => setBusy(false));
  };
  return { busy, outcome, act };
}

/** The texts about a call that the model reads after its result. */
export function Notes({ notes = [] }: { notes: string[] | undefined }): JSX.Element {
  return (
    <>
      {notes.map((note, index) => (
        <div key={index} class="note">
          <span class="dim">{TEXTS.noteToModel}: </span>
          <Text of={note} limit={500} />
        </div>
      ))}
    </>
  );
}
