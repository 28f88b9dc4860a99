import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ask, mayPass, Refused } from './api.ts';
import type { Approval, DecideCall } from './api-types.ts';
import { listDecided, me, onEnd, untilOther, waiting } from './caller.ts';
import { Decided } from './decided.ts';
import { RunLink } from './parts.tsx';
import { Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';

// The way of a decision to the service, and what becomes of it.

/** What was decided on this page, or is on its way to the service. */
export const decidedHere = new Decided();
waiting.subscribe((all) => decidedHere.see(all ?? []));

/** A decision that the service has not taken, or has perhaps not. */
interface UntakenDecision {
  approval: Approval;
  /** False if it was perhaps taken: its answer is lost. */
  isKnown: boolean;
  problem: string;
}

/** The last decision of which the part that it was made in cannot tell: that part may be gone from the screen. */
const untaken = signal<UntakenDecision | undefined>(undefined);

onEnd(() => {
  decidedHere.clear();
  untaken.value = undefined;
});

/** Says that a decision was not taken, or perhaps not, which is not on the screen any more. */
export function Untaken(): JSX.Element | null {
  if (untaken.value === undefined) return null;
  const { approval, isKnown, problem } = untaken.value;
  const { toolName, runId = '' } = approval;
  return (
    <div class="note bad" role="alert">
      <strong>{isKnown ? TEXTS.untaken : TEXTS.perhapsTaken}</strong>{' '}
      <RunLink runId={runId}>
        <Name of={toolName} /> · <Name of={runId} limit={100} />
      </RunLink>
      <Text of={problem} limit={800} />
      <button
        type="button"
        onClick={() => {
          untaken.value = undefined;
        }}
      >
        {TEXTS.hide}
      </button>
    </div>
  );
}

/** A decision as its reader makes it. */
export type Answer = {
  [Type in DecideCall['type']]: Omit<Extract<DecideCall, { type: Type }>, 'digest' | 'runId' | 'id' | 'by'>;
}[DecideCall['type']];

/** The refusals after which what waits has to be looked at again. */
const MOVED_ON = new Set(['digest_mismatch', 'already_decided', 'unknown_call', 'run_ended']);

interface Deciding {
  busy: boolean;
  error: unknown;
  decide: (answer: Answer) => void;
}

/** Sends a decision about exactly the arguments that were shown: with their digest. */
export function useDecision(approval: Approval, onRefused: (text: string) => void): Deciding {
  const { runId = '', callId, digest } = approval;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const isShown = useIsShown();
  const decide = (answer: Answer): void => {
    setBusy(true);
    setError(undefined);
    untaken.value = undefined;
    const until = untilOther();
    const asked = me.value?.runId ?? runId;
    // The list may lose it before the answer comes.
    decidedHere.add(approval);
    void ask('POST /v1/runs/{runId}/approvals/{callId}', { params: { runId: asked, callId }, body: { ...answer, digest, runId } })
      .catch((failure: unknown) => {
        if (until.aborted) return;
        const isKnown = !mayPass(failure);
        const code = failure instanceof Refused && isKnown ? failure.problem.code : '';
        const movedOn = code === 'digest_mismatch' ? TEXTS.changedMeanwhile : MOVED_ON.has(code) ? TEXTS.decidedMeanwhile : undefined;
        const problem = movedOn ?? (failure instanceof Error ? failure.message : String(failure));
        // What is still there may be decided once more, and go in that moment: then the next one is not decided by the same key.
        if (isKnown || isShown()) decidedHere.delete(approval);
        // The part goes with what it says as soon as the list knows: if it was taken after all, or if somebody else has decided.
        const goes = !isKnown || movedOn === TEXTS.decidedMeanwhile;
        if (goes || !isShown()) untaken.value = { approval, isKnown, problem };
        if (!isShown()) return;
        if (movedOn !== undefined) onRefused(movedOn);
        else setError(failure);
      })
      .then(() => listDecided(asked, until))
      .finally(() => setBusy(false));
  };
  return { busy, error, decide };
}

/** Returns a question whether the part is still on the screen. */
function useIsShown(): () => boolean {
  const isShown = useRef(true);
  useLayoutEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  return () => isShown.current;
}
