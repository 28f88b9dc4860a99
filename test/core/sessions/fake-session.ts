import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import type { Notice } from '../../../src/core/domain/run.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { ParentInput, SessionInput } from '../../../src/core/domain/run-input.ts';
import type { RunResultFields } from '../../../src/core/domain/result.ts';
import { firstState, openingKind } from '../../../src/core/first-start.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../../src/core/domain/byte-budgets.ts';
import type { RunPosition } from '../../../src/core/kernel/next-step.ts';
import type { ModelCallOutcome, ToolOutcome } from '../../../src/core/kernel/ports.ts';
import type { SummaryOutcome } from '../../../src/core/capabilities/compaction.ts';
import type { AllPorts } from '../../../src/core/capabilities.ts';
import type { SegmentCall, SegmentOutcome } from '../../../src/core/capabilities/code/code-cells.ts';
import type { PointAnswer, PointQuestion } from '../../../src/core/capabilities/hooks.ts';
import { BEGINNING } from '../../../src/core/kernel/run-loop.ts';
import { fromContinueAsNewState, readContinueAsNewState, toContinueAsNewState } from '../../../src/core/kernel/continue-as-new.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import type { RunState } from '../../../src/core/kernel/run-state.ts';
import { interruptOf, isSession, type OpenSession, stateOf } from '../../../src/core/sessions/open-session.ts';
import { begunWork, runSession, type SessionPorts } from '../../../src/core/sessions/run-session.ts';
import type { MessageReceiver } from '../../../src/core/handlers/decisions.ts';
import { refuseUpdate, takeUpdate } from '../../../src/core/handlers/requests.ts';
import type { UPDATES } from '../../../src/core/protocol.ts';
import { quietPorts } from '../loop/fakes/fake-ports.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

/** A session on fake ports. */
export interface FakeSession {
  state: OpenSession;
  inbox: Inbox;
  /** The record so far, over all executions. */
  events: Event[];
  /** The statuses that were shown, in order. */
  shown: string[];
  executions: number;
  modelCalls: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** The number of times that the agent was resolved again. */
  refreshes: number;
  /** The ends of turns that were reported to the run that keeps the session. */
  reported: string[];
  /** The ids of the sessions that it kept, and has closed. */
  closed: string[];
  /** Sends an Update as the server would deliver it; throws if the session refuses it. */
  update: (name: keyof typeof UPDATES, input: unknown) => unknown;
}

/** A caller that acts once the session waits. */
export type SessionCaller = (session: FakeSession) => unknown;

/** The script of a session. */
export interface SessionScript {
  terms?: SessionInput;
  /** The run that keeps the session. Default: none. */
  parent?: ParentInput;
  /** Called before the agent of the session is resolved. */
  earlier?: (run: MessageReceiver) => void;
  /** The input that the session begins with. Default: none. */
  input?: string;
  snapshot?: AgentSnapshot;
  /** One outcome for each model call. A function may read the session, or send requests to it. */
  model: (ModelCallOutcome | ((session: FakeSession) => ModelCallOutcome))[];
  /** The outcome of a tool call. Default: a result. */
  tool?: (session: FakeSession, toolCallId: string) => ToolOutcome;
  /** The agents that may take over. */
  agents?: AgentSnapshot[];
  /** Called while an agent that takes over is resolved. */
  onHandoff?: SessionCaller;
  /** The outcome of each segment of code. */
  runSegment?: (segment: SegmentCall) => SegmentOutcome;
  /** The callers that act in order while the session waits. After the last one it is closed. */
  callers: SessionCaller[];
  /** The snapshots that the worker has when the agent is resolved again; an error if there are none. */
  refreshed?: AgentSnapshot[];
  /** The worker's notices about the tools of each of them. */
  notices?: Notice[];
  /** Called while the agent is resolved again. */
  duringRefresh?: SessionCaller;
  /** True before a model call: the session continues as new there, once in each execution. */
  continuesInTurn?: (session: FakeSession) => boolean;
  summarize?: () => SummaryOutcome | Promise<SummaryOutcome>;
  /** Answers a question about messages or an answer. Default: the activity fails. */
  askAtPoint?: (session: FakeSession, question: PointQuestion) => PointAnswer;
  /** True: the session continues as new before each wait. */
  continues?: boolean;
}

const START = Date.parse('2026-01-01T00:00:00.000Z');

/** Runs a session to its end. */
export async function runFakeSession(script: SessionScript): Promise<FakeSession & { result: RunResultFields }> {
  let ids = 0;
  const clock = { now: () => session.now, uuid: () => `event-${++ids}` };
  const { terms = {}, input, parent, snapshot = testSnapshot() } = script;
  const opening = { ...(input === undefined ? {} : { input }), ...(parent === undefined ? {} : { parent }) };
  const start = { type: 'input', input: { agent: 'a', messages: [], session: terms, ...opening } } as const;
  const session: FakeSession = {
    state: opened(firstState(start, { runId: 'talk', snapshot, deps: {}, startedAt: START }, { now: () => START, uuid: () => 'first' })),
    inbox: new Inbox(),
    events: [],
    shown: [],
    executions: 1,
    modelCalls: 0,
    now: START,
    refreshes: 0,
    reported: [],
    closed: [],
    update: (name, sent) => {
      const { state, inbox } = session;
      const refused = refuseUpdate({ runId: 'talk', state, inbox }, name, sent, session.now);
      if (refused !== undefined) throw new Error(`${refused.code}: ${refused.message}`);
      return takeUpdate({ runId: 'talk', state, inbox }, name, sent, session.now);
    },
  };
  script.earlier?.({ runId: 'talk', inbox: session.inbox, ...openingKind(start) });
  const callers = [...script.callers];
  let position: RunPosition = BEGINNING;
  for (;;) {
    const end = await runSession(session.state, { ...clock, ...portsOf(session, script, callers) }, position);
    session.events.push(...session.state.context.events);
    if (end.type === 'finished') return { ...session, result: end.result };
    const continuedState = toContinueAsNewState(session.state, end.position, {
      executions: session.executions,
      inbox: session.inbox.carried(),
    });
    const bytes = jsonBytes(continuedState);
    if (bytes > MAX_PAYLOAD_BYTES) throw new Error(`payload_too_large: ${bytes} bytes`);
    const checked = readContinueAsNewState(JSON.parse(JSON.stringify(continuedState)));
    if (!checked.ok) throw new Error(checked.problem);
    const next = fromContinueAsNewState(checked.continuedState);
    session.executions += 1;
    session.state = opened(next.state);
    session.inbox = new Inbox(checked.continuedState.inbox);
    position = next.position;
  }
}

function opened(state: RunState): OpenSession {
  if (!isSession(state)) throw new Error('The state is not that of a session');
  return state;
}

function portsOf(
  session: FakeSession,
  script: SessionScript,
  callers: SessionCaller[],
): Omit<SessionPorts & Pick<AllPorts, 'runSegment' | 'resolveHandoff'>, 'now' | 'uuid'> {
  const { inbox } = session;
  let waited = false;
  return {
    ...quietPorts(),
    inbox,
    cancelRequested: () => interruptOf(inbox) !== undefined && stateOf(session.state).turn !== undefined,
    callModel: () => {
      const outcome = script.model[session.modelCalls];
      session.modelCalls += 1;
      if (outcome === undefined) throw new Error(`The script has no answer to model call ${session.modelCalls}`);
      return Promise.resolve(typeof outcome === 'function' ? outcome(session) : outcome);
    },
    runTool: ({ call }) =>
      Promise.resolve(
        script.tool?.(session, call.toolCallId) ?? { type: 'result', status: 'success', content: [`${call.name} ran`], durationMs: 1 },
      ),
    resolveHandoff: (agent) => {
      const found = script.agents?.find(({ name }) => name === agent);
      script.onHandoff?.(session);
      return Promise.resolve(
        found === undefined ? { type: 'failed', code: 'unknown_agent', message: 'no such agent' } : { type: 'resolved', snapshot: found },
      );
    },
    runSegment: (segment) => Promise.resolve(script.runSegment?.(segment) ?? { type: 'failed', message: 'the session has no code' }),
    ...(script.summarize === undefined ? {} : { summarize: () => Promise.resolve(script.summarize?.() ?? { type: 'cancelled' }) }),
    ...(script.askAtPoint === undefined
      ? {}
      : { askAtPoint: (question: PointQuestion) => Promise.resolve(script.askAtPoint?.(session, question) ?? { type: 'cancelled' }) }),
    until: async (isMet) => {
      waited = true;
      // Work in the background of the wait has time to end.
      await new Promise((resolve) => setImmediate(resolve));
      while (!isMet()) {
        const caller = callers.shift();
        if (caller === undefined) session.update('close', {});
        else caller(session);
      }
    },
    withinTurn: (turn) => turn(),
    inBackground: begunWork,
    continueDue: () => script.continuesInTurn?.(session) === true,
    continueBeforeSleep: () => script.continues === true && waited,
    refreshAgent: () => {
      session.refreshes += 1;
      script.duringRefresh?.(session);
      const next = script.refreshed?.shift();
      return Promise.resolve(
        next === undefined
          ? { type: 'failed', code: 'invalid_input', message: 'the deps do not fit' }
          : { type: 'resolved', snapshot: next, ...(script.notices === undefined ? {} : { notices: script.notices }) },
      );
    },
    readMessage: () => Promise.resolve({ type: 'read', content: 'a long message' }),
    closeKept: (kept) => {
      session.closed.push(...kept.map(({ runId }) => runId));
      return Promise.resolve();
    },
    turnEnded: (runId, turn, call) => {
      session.reported.push(`${runId}: ${turn}${call === undefined ? '' : ` of ${call}`}`);
      return Promise.resolve();
    },
    endChildren: () => Promise.resolve(),
    recorded: ({ status }) => {
      if (session.shown.at(-1) !== status) session.shown.push(status);
    },
  };
}
