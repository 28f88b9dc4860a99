import type { AgentSnapshot } from '../domain/agent.ts';
import { defined } from '../domain/json.ts';
import { noUsage } from '../domain/usage.ts';
import type { Window } from '../domain/window.ts';
import { type ContinueAsNewState, fromContinueAsNewState, STATE_VERSION, toContinueAsNewState } from '../kernel/continue-as-new.ts';
import { thoughtOf } from '../kernel/next-step.ts';
import { noApprovals, type RunState } from '../kernel/run-state.ts';

/** The parts of a carried state that a burst has from elsewhere: from its worker, from the conversation, or not at all. */
type FromElsewhere = 'version' | 'runId' | 'executions' | 'snapshot' | 'window' | 'inbox' | 'position' | 'thought' | 'principal';

/** The parts that most bursts begin with as their run has begun. */
type UsuallyBlank = 'deps' | 'state' | 'usage' | 'toolCallsTotal' | 'outputRetries' | 'approvals' | 'limits';

/** The parts that are absent if they are as at the beginning of the run, or follow from others: most calls that have started have ended. */
type Followed = UsuallyBlank | 'toolCallsStarted';

/** The state of a run as a burst begins with it, without what its worker knows. Plain JSON, mostly counters. */
export type BurstState = Omit<ContinueAsNewState, FromElsewhere | Followed> &
  Partial<Pick<ContinueAsNewState, Followed>> & {
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
  const known: Readonly<Record<string, unknown>> = knownParts(snapshot, left);
  const isKnown = ([name, value]: [string, unknown]): boolean => name in known && JSON.stringify(value) === JSON.stringify(known[name]);
  const parts = Object.fromEntries(Object.entries(left).filter((part) => !isKnown(part))) as Omit<BurstState, 'thought'>;
  return lastThought(window, snapshot.name) === thought ? parts : { ...parts, thought };
}

/** Returns the parts that are left out of the state if they have these values. */
function knownParts(
  { limits }: Pick<AgentSnapshot, 'limits'>,
  { toolCallsByName }: Pick<ContinueAsNewState, 'toolCallsByName'>,
): Pick<ContinueAsNewState, Followed> {
  return {
    deps: {},
    state: {},
    usage: noUsage(),
    toolCallsTotal: 0,
    outputRetries: 0,
    approvals: noApprovals(),
    limits: { ...limits },
    toolCallsStarted: toolCallsByName,
  };
}

/** What a worker knows of a run. */
export interface KnownRun extends Pick<RunState, 'runId' | 'snapshot' | 'window' | 'principal'> {}

/** Returns the state of the loop of a burst. */
export function fromBurstState({ runId, snapshot, window, principal }: KnownRun, { thought, ...left }: BurstState): RunState {
  const { state } = fromContinueAsNewState({
    ...knownParts(snapshot, left),
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
