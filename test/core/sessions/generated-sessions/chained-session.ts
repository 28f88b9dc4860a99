import type { Event } from '../../../../src/core/domain/record.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { endedTurns, sessionOf as sessionState, type TurnResultFields } from '../../../../src/core/domain/sessions.ts';
import type { RunPosition } from '../../../../src/core/kernel/next-step.ts';
import { BEGINNING } from '../../../../src/core/kernel/run-loop.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import { newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { beginSession, interruptOf, isSession, openAs, type OpenSession } from '../../../../src/core/sessions/open-session.ts';
import { begunWork, runSession, type SessionPorts } from '../../../../src/core/sessions/run-session.ts';
import { testSnapshot, testTool } from '../../loop/fakes/snapshot.ts';
import { quietPorts } from '../../loop/fakes/quiet-ports.ts';
import { carriedSession, type ExecutionState } from '../../loop/generated-runs/carried-over.ts';
import type { PlannedSession } from './planned-session.ts';
import { SessionActors } from './session-actors.ts';

/** A generated session, from its beginning to its end, over all its executions. */
export interface ChainedSession {
  actors: SessionActors;
  events: Event[];
  turns: TurnResultFields[];
  result: RunResultFields;
  /** The points where the session continued as new. */
  positions: RunPosition[];
  /** The moments when the session was shown as idle during a turn, or as busy between two. */
  contradictions: string[];
}

/** Called before every step, call and wait: decides if the session continues as new there. */
export type ContinueDue = () => boolean;

/** Afterwards a generated session stays in its last execution: many of them take longer, and show nothing else. */
const MOST_EXECUTIONS = 40;

/** Holds a generated session; it continues as new if `continueDue` is true, once an execution has recorded something. */
export async function chainedSession(plan: PlannedSession, continueDue: ContinueDue): Promise<ChainedSession> {
  const actors = new SessionActors(plan);
  const chain = {
    actors,
    events: [] as Event[],
    turns: [] as TurnResultFields[],
    positions: [] as RunPosition[],
    contradictions: [] as string[],
  };
  let ids = 0;
  const clock = { now: () => actors.now, uuid: () => `event-${(ids += 1)}` };
  let execution: ExecutionState<RunPosition> = { state: firstStateOf(plan, clock), position: BEGINNING, inbox: new Inbox() };
  for (;;) {
    const state = sessionOf(execution.state);
    const mayContinue = (): boolean => chain.positions.length < MOST_EXECUTIONS && continueDue();
    const ports = { ...clock, ...portsOf(execution, { actors, continueDue: mayContinue, contradictions: chain.contradictions }) };
    const end = await runSession(state, ports, execution.position);
    chain.events.push(...state.context.events);
    chain.turns.push(...(endedTurns(state) ?? []));
    if (end.type === 'finished') return { ...chain, result: end.result };
    chain.positions.push(end.position);
    execution = carriedSession({ ...execution, position: end.position, executions: chain.positions.length });
  }
}

function firstStateOf(plan: PlannedSession, clock: { now: () => number; uuid: () => string }): RunState {
  const { window, steps, finalAttempt, limits, compactAfter, opens } = plan;
  const snapshot = testSnapshot({
    tools: [testTool('known'), testTool('asked', { approval: { when: 'predicate', onDeadline: 'reject' } })],
    window,
    limits: { steps, finalAttempt },
  });
  const startedAt = clock.now();
  const opening = opens ? { input: 'opening' } : { messages: [] };
  const state = newRunState({ runId: 'session-1', snapshot, startedAt, ...opening }, clock);
  const session = beginSession({ limits, compactAfter }, { startedAt, opens, overrides: {} });
  openAs(state, session);
  return Object.assign(state, opens ? {} : { status: 'idle' as const });
}

function sessionOf(state: RunState): OpenSession {
  if (isSession(state)) return state;
  throw new Error('The session is no session any more');
}

/** The data of an execution from outside. */
interface Environment {
  actors: SessionActors;
  continueDue: ContinueDue;
  contradictions: string[];
}

function portsOf(
  execution: ExecutionState<RunPosition>,
  { actors, continueDue, contradictions }: Environment,
): Omit<SessionPorts, 'now' | 'uuid'> {
  const { state, inbox } = execution;
  const run = { runId: state.runId, state, inbox };
  let hasActed = false;
  let isFull = false;
  const acted = <Outcome>(outcome: Outcome): Outcome => {
    hasActed = true;
    return outcome;
  };
  const isDue = (): boolean => {
    isFull ||= hasActed && continueDue();
    return isFull;
  };
  const isInterrupted = (): boolean => interruptOf(inbox) !== undefined;
  const check = (moment: string): void => {
    const isIdle = state.status === 'idle';
    if (isIdle !== (sessionState(state)?.turn === undefined)) contradictions.push(`${moment}: ${state.status}`);
  };
  actors.act = () => acted(actors.say(run));
  return {
    ...quietPorts(),
    inbox,
    callModel: () => {
      check('model call');
      return actors.during(acted(actors.model(run)));
    },
    runTool: async (invocation) => {
      check('tool call');
      return acted(await actors.during(actors.tool(invocation, run)));
    },
    summarize: async (request) => acted(actors.summary(request)),
    cancelRequested: () => actors.cancelled || isInterrupted(),
    until: (isMet, deadline) => actors.until(() => isMet() || isInterrupted(), deadline),
    continueDue: isDue,
    continueBeforeSleep: isDue,
    withinTurn: (turn) => turn(),
    inBackground: begunWork,
    refreshAgent: async () => acted({ type: 'resolved', snapshot: state.snapshot }),
    endChildren: async () => undefined,
    readMessage: async () => ({ type: 'failed', code: 'internal', message: 'no run keeps this session' }),
    closeKept: async () => undefined,
    turnEnded: async () => undefined,
    recorded: () => check('record'),
  };
}
