import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { ask } from './api.ts';
import type { MessageReceipt, Operations } from './api-types.ts';
import { Fold, Note, useAction } from './parts.tsx';
import { may, onEnd, restarts, untilOther } from './caller.ts';
import { limitsText } from './notes.ts';
import { TEXTS } from './texts.ts';

interface ControlsOptions {
  runId: string;
  isOver: boolean;
  /** The run of a program takes no messages, has no permissions, and no numbers of steps. */
  isProgram: boolean;
  status: string | undefined;
}

/** What a reader may do with a run. A control whose scope the reader lacks is absent; the service refuses it besides. */
export function RunControls({ runId, isOver, isProgram, status }: ControlsOptions): JSX.Element | null {
  const { busy, outcome, act } = useAction();
  // The status of a run that waits for a decision does not say that it is paused, too: its receipt does, until the run moves on.
  const [receipt, setReceipt] = useState<{ paused: boolean }>();
  const isPaused = receipt?.paused ?? status === 'paused';
  useLayoutEffect(() => {
    if (status !== 'pending_confirmation') setReceipt(undefined);
  }, [status]);
  if (!may('runs:write')) return null;
  const tools: ControlOptions = { runId, busy, act };
  const toggle = (): Promise<string> =>
    isPaused
      ? ask('POST /v1/runs/{runId}/resume', { params: { runId }, body: {} }).then((answer) => {
          setReceipt(answer);
          return TEXTS.receipts.resumed;
        })
      : ask('POST /v1/runs/{runId}/pause', { params: { runId }, body: {} }).then((answer) => {
          setReceipt(answer);
          return TEXTS.receipts.paused;
        });
  return (
    <section aria-labelledby="controls" class="controls">
      <h3 id="controls">{TEXTS.controls}</h3>
      {isOver ? (
        <Retry {...tools} isProgram={isProgram} />
      ) : (
        <>
          {!isProgram && <SendForm {...tools} />}
          <button type="button" disabled={busy} onClick={() => act(toggle)}>
            {isPaused ? TEXTS.resume : TEXTS.pause}
          </button>
          <Fold title={TEXTS.raise}>{() => <Raise {...tools} />}</Fold>
          {!isProgram && <Fold title={TEXTS.permissions}>{() => <Permissions {...tools} />}</Fold>}
          <Fold title={TEXTS.cancel}>{() => <Cancel {...tools} />}</Fold>
        </>
      )}
      {outcome ?? (retried.value?.runId === runId && <Note tone="good">{retried.value.text}</Note>)}
    </section>
  );
}

/** The receipt of the last retry: the page of its run is read from the beginning, and shows it again. */
const retried = signal<{ runId: string; text: string } | undefined>(undefined);
onEnd(() => {
  retried.value = undefined;
});

interface ControlOptions {
  runId: string;
  busy: boolean;
  act: (work: () => Promise<string>) => void;
}

type Mode = keyof typeof TEXTS.modes;

function SendForm({ runId, busy, act }: ControlOptions): JSX.Element {
  const [content, setContent] = useState('');
  const [mode, setMode] = useState<Mode>('queue');
  const send = async (): Promise<string> => {
    const receipt = await ask('POST /v1/runs/{runId}/messages', { params: { runId }, body: { content, mode } });
    // What was written meanwhile is the next message.
    setContent((now) => (now === content ? '' : now));
    return receiptText(receipt);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        act(send);
      }}
    >
      <label>
        {TEXTS.message}
        <textarea rows={2} required value={content} onInput={(event) => setContent(event.currentTarget.value)} />
      </label>
      <label>
        {TEXTS.mode}
        <select value={mode} onChange={(event) => setMode(event.currentTarget.value as Mode)}>
          {Object.entries(TEXTS.modes).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" disabled={busy}>
        {TEXTS.send}
      </button>
    </form>
  );
}

function receiptText({ beforeStep, turn }: MessageReceipt): string {
  const { receipts } = TEXTS;
  if (beforeStep !== undefined) return receipts.sent(receipts.beforeStep(beforeStep));
  return receipts.sent(turn === undefined ? '.' : receipts.turn(turn));
}

/** Returns what a form says, by the names of its fields, and keeps it from leaving the page. */
function valuesOf(event: Event): Record<string, string> {
  event.preventDefault();
  const entries = [...new FormData(event.currentTarget as HTMLFormElement)];
  return Object.fromEntries(entries.flatMap(([key, value]) => (typeof value === 'string' && value !== '' ? [[key, value]] : [])));
}

function Raise({ runId, busy, act }: ControlOptions): JSX.Element {
  const send = (values: Record<string, string>): Promise<string> => {
    const limits = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Number(value)]));
    return ask('POST /v1/runs/{runId}/limits', { params: { runId }, body: { limits } }).then((receipt) =>
      TEXTS.receipts.raised(limitsText(receipt.limits)),
    );
  };
  const fields = { steps: TEXTS.maxSteps, totalTokens: TEXTS.maxTokens, costUsd: TEXTS.maxCost };
  return (
    <form
      onSubmit={(event) => {
        const values = valuesOf(event);
        act(() => send(values));
      }}
    >
      {Object.entries(fields).map(([name, text]) => (
        <label key={name}>
          {text}
          <input name={name} type="number" min={name === 'steps' ? 1 : 0} step={name === 'costUsd' ? 'any' : 1} />
        </label>
      ))}
      <button type="submit" disabled={busy}>
        {TEXTS.apply}
      </button>
    </form>
  );
}

type PermissionsBody = Operations['PUT /v1/runs/{runId}/permissions']['body'];

function permissionsIn(rules: string): PermissionsBody['permissions'] {
  try {
    return JSON.parse(rules) as PermissionsBody['permissions'];
  } catch (error) {
    throw new Error(TEXTS.invalidJson(error instanceof Error ? error.message : String(error)), { cause: error });
  }
}

function Permissions({ runId, busy, act }: ControlOptions): JSX.Element {
  const send = async (rules: string): Promise<string> => {
    const permissions = permissionsIn(rules);
    await ask('PUT /v1/runs/{runId}/permissions', { params: { runId }, body: { permissions } });
    return TEXTS.receipts.permissions;
  };
  return (
    <form
      onSubmit={(event) => {
        const { rules = '' } = valuesOf(event);
        act(() => send(rules));
      }}
    >
      <label>
        {TEXTS.permissionsHelp}
        <textarea name="rules" rows={3} required spellcheck={false} />
      </label>
      <button type="submit" disabled={busy}>
        {TEXTS.apply}
      </button>
    </form>
  );
}

function Cancel({ runId, busy, act }: ControlOptions): JSX.Element {
  const send = (reason: string | undefined): Promise<string> =>
    ask('POST /v1/runs/{runId}/cancel', { params: { runId }, body: { reason } }).then(({ outcome }) =>
      outcome === 'requested' ? TEXTS.receipts.cancelled : TEXTS.receipts.alreadyEnded,
    );
  return (
    <form
      onSubmit={(event) => {
        const { reason } = valuesOf(event);
        act(() => send(reason));
      }}
    >
      <label>
        {TEXTS.reason}
        <input name="reason" />
      </label>
      <button type="submit" class="danger" disabled={busy}>
        {TEXTS.confirmCancel}
      </button>
    </form>
  );
}

function Retry({ runId, busy, act, isProgram }: ControlOptions & { isProgram: boolean }): JSX.Element {
  const send = async (fromStep: number | undefined): Promise<string> => {
    const until = untilOther();
    const receipt = await ask('POST /v1/runs/{runId}/retry', { params: { runId }, body: { fromStep } });
    const { receipts } = TEXTS;
    const text = isProgram ? receipts.begunAgain : receipts.retried(receipt.fromStep, receipt.dropped.length);
    if (until.aborted) return text;
    retried.value = { runId, text };
    restarts.value += 1;
    return text;
  };
  return (
    <form
      onSubmit={(event) => {
        const { fromStep } = valuesOf(event);
        act(() => send(fromStep === undefined ? undefined : Number(fromStep)));
      }}
    >
      {!isProgram && (
        <label>
          {TEXTS.fromStep}
          <input name="fromStep" type="number" min={1} />
        </label>
      )}
      <small class="dim">{isProgram ? TEXTS.retryProgram : TEXTS.retryHelp}</small>
      <button type="submit" disabled={busy}>
        {TEXTS.retry}
      </button>
    </form>
  );
}
