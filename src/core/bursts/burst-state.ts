import { defined } from '../domain/defined.ts';
import type { Window } from '../domain/window.ts';
import { type ContinueAsNewState, fromContinueAsNewState, STATE_VERSION, toContinueAsNewState } from '../kernel/continue-as-new.ts';
import { thoughtOf } from '../kernel/next-step.ts';
import type { RunState } from '../kernel/run-state.ts';

/** The parts of a carried state that a burst has from elsewhere: from its worker, from the conversation, or not at all. */
type FromElsewhere = 'version' | 'runId' | 'executions' | 'snapshot' | 'window' | 'inbox' | 'position' | 'thought' | 'principal';

/** The state of a run as a burst begins with it, without what its worker knows. Plain JSON, mostly counters. */
export type BurstState = Omit<ContinueAsNewState, FromElsewhere> & {
  /** Absent: it is the last text of the conversation. */
  thought?: string;
};

/** What a burst asks its run: the state, if its input has none, and why the run waits for its end. */
export interface BurstView {
  state: BurstState | null;
  /** The run, or its turn, is cancelled. */
  isCancelled: boolean;
  /** A message interrupts the model call in flight. */
  isInterrupted: boolean;
}

/** A burst sees no request. */
const NO_REQUESTS = { messages: [], seen: [], paused: false };

const POSITION = { type: 'call_model', final: false } as const;

/** Returns the state that a burst begins with. */
export function toBurstState(state: RunState): BurstState {
  const carried = toContinueAsNewState(state, POSITION, { executions: 0, inbox: NO_REQUESTS });
  const {
    version: _,
    runId: __,
    executions: ___,
    snapshot,
    window,
    inbox: ____,
    position: _____,
    principal: ______,
    thought,
    ...left
  } = carried;
  return lastThought(window, snapshot.name) === thought ? left : { ...left, thought };
}

/** What a worker knows of a run. */
export interface KnownRun extends Pick<RunState, 'runId' | 'snapshot' | 'window' | 'principal'> {}

/** Returns the state of the loop of a burst. */
export function fromBurstState({ runId, snapshot, window, principal }: KnownRun, { thought, ...left }: BurstState): RunState {
  const { state } = fromContinueAsNewState({
    ...left,
    ...defined({ principal }),
    thought: thought ?? lastThought(window, snapshot.name),
    version: STATE_VERSION,
    runId,
    executions: 0,
    snapshot,
    window,
    inbox: NO_REQUESTS,
    position: POSITION,
  });
  return state;
}

/** Returns the last text of an agent in the conversation, or an empty text. */
function lastThought({ events }: Window, agent: string): string {
  for (const { author, content } of events.toReversed()) {
    const text = author === agent ? thoughtOf(content) : null;
    if (text !== null) return text;
  }
  return '';
}
