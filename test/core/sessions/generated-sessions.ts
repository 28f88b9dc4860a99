import * as fc from 'fast-check';
import type { SummaryOutcome, SummaryRequest } from '../../../src/core/capabilities/compaction.ts';
import type { WindowPolicy } from '../../../src/core/domain/agent.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import type { SessionLimits } from '../../../src/core/domain/limits.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultFields } from '../../../src/core/domain/result.ts';
import { endedTurns, type InterruptReceipt, sessionOf, type TurnResultFields } from '../../../src/core/domain/sessions.ts';
import { refuseUpdate, takeUpdate } from '../../../src/core/handlers/requests.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import type { RunPosition } from '../../../src/core/kernel/next-step.ts';
import type { ModelCallOutcome, ToolInvocation, ToolOutcome } from '../../../src/core/kernel/ports.ts';
import { BEGINNING } from '../../../src/core/kernel/run-loop.ts';
import { newRunState, type RunState } from '../../../src/core/kernel/run-state.ts';
import type { MessageReceipt, UPDATES } from '../../../src/core/protocol.ts';
import { beginSession, interruptOf, isSession, limitsOf, openAs, type OpenSession } from '../../../src/core/sessions/open-session.ts';
import { begunWork, runSession, type SessionPorts } from '../../../src/core/sessions/run-session.ts';
import { call, FakeScheduler, message, quietPorts, tokens } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { carriedSession, type ExecutionState } from '../loop/generated-runs/carried-over.ts';

/** A request of a caller to a generated session. `again`: the newest message is sent again. */
type PlannedRequest = 'send' | 'again' | 'steer' | 'interrupt' | 'raise' | 'refresh' | 'close';

/** One model call of a generated session, the requests while it answers, and those while each of its tools runs or waits. */
interface PlannedAnswer {
  type: 'text' | 'tools' | 'failed';
  /** The length of its text. */
  chars: number;
  /** Calls of tools: one that runs at once, and one that waits for a decision. */
  calls: ('known' | 'asked')[];
  usage: [prompt: number, completion: number] | null;
  during: PlannedRequest[];
  duringCalls: PlannedRequest[];
  /** The requests while a call waits for a decision. The last of them is followed by the decision. */
  whileWaiting: PlannedRequest[];
  /** The part of an answer that is kept if the turn is interrupted. */
  hasPartial: boolean;
  /** The answer arrives in the same task as the interrupt of its turn. */
  isInTime: boolean;
}

/** The behavior of every actor around a generated session, in whichever execution it happens. */
interface PlannedSession {
  /** The requests at each time that the session is idle. After the last of them it is closed. */
  idle: PlannedRequest[][];
  answers: PlannedAnswer[];
  summaries: ('short' | 'long' | 'failed')[];
  window: WindowPolicy;
  limits: SessionLimits;
  compactAfter: number | null;
  /** The steps of a turn. */
  steps: number;
  finalAttempt: boolean;
  /** The whole session is cancelled at this model call. */
  cancelAt: number | null;
  opens: boolean;
}

const chars = fc.constantFrom(1, 10, 100, 400, 1_500);

const whileBusy = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<PlannedRequest[]>('send', 'again', 'steer', 'raise', 'refresh') },
    { weight: 2, arbitrary: fc.constant<PlannedRequest>('interrupt') },
    { weight: 1, arbitrary: fc.constant<PlannedRequest>('close') },
  ),
  { maxLength: 2 },
);

const quiet: fc.Arbitrary<PlannedRequest[]> = fc.constant([]);

function rarely(requests: fc.Arbitrary<PlannedRequest[]>): fc.Arbitrary<PlannedRequest[]> {
  return fc.oneof({ weight: 3, arbitrary: quiet }, { weight: 1, arbitrary: requests });
}

const plannedAnswer: fc.Arbitrary<PlannedAnswer> = fc.record({
  type: fc.oneof(
    { weight: 6, arbitrary: fc.constant('text' as const) },
    { weight: 4, arbitrary: fc.constant('tools' as const) },
    { weight: 1, arbitrary: fc.constant('failed' as const) },
  ),
  chars,
  calls: fc.array(fc.constantFrom('known' as const, 'asked' as const), { minLength: 1, maxLength: 3 }),
  usage: fc.option(fc.tuple(fc.nat(500), fc.nat(300)), { nil: null }),
  during: rarely(whileBusy),
  duringCalls: rarely(whileBusy),
  whileWaiting: rarely(whileBusy),
  hasPartial: fc.boolean(),
  isInTime: fc.boolean(),
});

/** Random sessions, whose conversation is compacted often, and which reach their limits. */
export const plannedSession: fc.Arbitrary<PlannedSession> = fc.record({
  idle: fc.array(
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: fc.constant<PlannedRequest>('send') },
        { weight: 2, arbitrary: fc.constantFrom<PlannedRequest[]>('again', 'steer', 'interrupt', 'raise', 'refresh') },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    { minLength: 1, maxLength: 12 },
  ),
  answers: fc.array(plannedAnswer, { minLength: 1, maxLength: 12 }),
  summaries: fc.array(fc.constantFrom('short' as const, 'short' as const, 'long' as const, 'failed' as const), {
    minLength: 1,
    maxLength: 4,
  }),
  window: fc.record({
    maxTokens: fc.constantFrom(3_000, 100_000),
    maxBytes: fc.constantFrom(6_000, 12_000, 1_000_000),
    keepResults: fc.nat(3),
    summarize: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  }),
  limits: fc.constantFrom<SessionLimits[]>({ turns: null, totalTokens: null }, { turns: 3 }, { turns: null, totalTokens: 2_000 }, {}),
  compactAfter: fc.constantFrom(1, 2, 5, null),
  steps: fc.constantFrom(1, 2, 4, 10),
  finalAttempt: fc.boolean(),
  cancelAt: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(10) }),
  opens: fc.boolean(),
});

/** The present execution of a session, for the actors around it. */
interface ActiveSession {
  runId: string;
  state: RunState;
  inbox: Inbox;
}

/** The model, the tools and the callers of a generated session, over all its executions. */
class SessionActors extends FakeScheduler {
  /** The ids of the accepted messages, with the turns that were to answer. The id of a message is its text. */
  readonly accepted: { id: string; turn: number | undefined }[] = [];
  /** The receipts of messages that were resent, with the number of turns that had ended. */
  readonly repeated: { id: string; turn: number | undefined; ended: number }[] = [];
  /** The codes of refused requests, in order. */
  readonly refusals: string[] = [];
  /** The contents of the windows of all model calls. */
  readonly requests: ContentItem[][] = [];
  readonly summaries: SummaryRequest[] = [];
  readonly started: string[] = [];
  /** The numbers of the turns that were interrupted. */
  readonly interrupted: number[] = [];
  readonly #plan: PlannedSession;
  readonly #answers = new Map<string, PlannedAnswer>();
  readonly #waited = new Map<string, number>();
  #modelCalls = 0;
  #idle = 0;
  #ids = 0;

  constructor(plan: PlannedSession) {
    super();
    this.#plan = plan;
  }

  model(run: ActiveSession): ModelCallOutcome {
    this.requests.push(structuredClone(run.state.window.events.flatMap(({ content }) => content)));
    const index = this.#modelCalls++;
    if (this.#plan.cancelAt === index) this.cancel();
    const answer = this.#planned(index);
    this.#ask(run, answer.during);
    const text = 't'.repeat(answer.chars);
    if ((this.cancelled || interruptOf(run.inbox) !== undefined) && !answer.isInTime) {
      // Its worker dies while it is aborted.
      if (answer.type === 'failed') return { type: 'failed', code: 'model_timeout', message: 'no heartbeat' };
      if (!answer.hasPartial) return { type: 'cancelled' };
      return { type: 'cancelled', partial: { id: `partial-${index}`, content: [message(text)], usage: null, finishReason: 'interrupted' } };
    }
    if (answer.type === 'failed') return { type: 'failed', code: 'model_error', message: 'down' };
    const usage = answer.usage === null ? null : tokens(...answer.usage);
    const base = { id: `response-${index}`, usage };
    if (answer.type === 'text') return { type: 'response', response: { ...base, content: [message(text)], finishReason: 'stop' } };
    const calls = answer.calls.map((name, place) => call(`c${index}-${place}`, name, { output: 'a'.repeat(answer.chars) }));
    for (const { toolCallId } of calls) this.#answers.set(toolCallId, answer);
    const approvals = Object.fromEntries(
      calls.flatMap(({ toolCallId, name }) => (name === 'asked' ? [[toolCallId, { digest: `of ${toolCallId}` }]] : [])),
    );
    return { type: 'response', response: { ...base, content: calls, approvals, finishReason: 'tool_calls' } };
  }

  /** Callers are quiet once the answers repeat: messages that come with every answer would never end. */
  #planned(index: number): PlannedAnswer {
    const { answers } = this.#plan;
    const answer = answers[index % answers.length];
    if (answer === undefined) throw new Error('The plan has no answers');
    return index < answers.length ? answer : { ...answer, during: [], duringCalls: [], whileWaiting: [] };
  }

  async tool({ call: { toolCallId } }: ToolInvocation, run: ActiveSession): Promise<ToolOutcome> {
    this.started.push(toolCallId);
    const answer = this.#answers.get(toolCallId);
    this.#ask(run, answer?.duringCalls ?? []);
    await new Promise((resolve) => setImmediate(resolve));
    if (this.cancelled || interruptOf(run.inbox) !== undefined) return { type: 'cancelled' };
    return { type: 'result', status: 'success', content: ['r'.repeat(answer?.chars ?? 1)], durationMs: 1 };
  }

  summary(request: SummaryRequest): SummaryOutcome {
    const index = this.summaries.push(request) - 1;
    const kind = this.#plan.summaries[index % this.#plan.summaries.length];
    if (kind === 'failed') return { type: 'failed', code: 'model_error', message: 'no summary' };
    const text = kind === 'long' ? 's'.repeat(request.maxBytes - 2) : `summary ${index}`;
    return { type: 'summary', id: `summary-${index}`, text, usage: tokens(30, 3) };
  }

  /** Sends the next requests while the session waits, if there are any: for a decision, or for a message. */
  say(run: ActiveSession): boolean {
    const [waiting] = run.state.approvals.pending;
    if (waiting !== undefined) {
      const planned = this.#answers.get(waiting.callId)?.whileWaiting ?? [];
      const before = this.#waited.get(waiting.callId) ?? 0;
      this.#waited.set(waiting.callId, before + 1);
      const next = planned[before];
      if (next !== undefined) this.#ask(run, [next]);
      else this.#update(run, 'approve', { callId: waiting.callId, digest: waiting.digest, id: `decision on ${waiting.callId}`, by: 'ann' });
      return true;
    }
    const requests = this.#plan.idle[this.#idle++];
    this.#ask(run, requests ?? ['close']);
    return true;
  }

  #ask(run: ActiveSession, requests: readonly PlannedRequest[]): void {
    for (const request of requests) this.#request(run, request);
    this.notify();
  }

  #request(run: ActiveSession, request: PlannedRequest): void {
    const id = `${request}-${(this.#ids += 1)}`;
    switch (request) {
      case 'send':
      case 'steer': {
        const receipt = this.#update(run, 'send', { id, content: id, mode: request === 'send' ? 'queue' : 'steer' });
        if (receipt !== undefined) this.accepted.push({ id, turn: (receipt as MessageReceipt).turn });
        return;
      }
      case 'again': {
        const newest = this.accepted.at(-1)?.id;
        if (newest === undefined) return;
        const mode = newest.startsWith('steer') ? 'steer' : 'queue';
        const receipt = this.#update(run, 'send', { id: newest, content: newest, mode }) as MessageReceipt;
        const { turns = 0, turn } = sessionOf(run.state) ?? {};
        this.repeated.push({ id: newest, turn: receipt.turn, ended: turn === undefined ? turns : turns - 1 });
        return;
      }
      case 'raise':
        this.#update(run, 'raise', { id, session: higher(run.state) });
        return;
      case 'interrupt':
        this.#interrupted(this.#update(run, 'interrupt', { reason: id }) as InterruptReceipt);
        return;
      case 'refresh':
      case 'close':
        this.#update(run, request, {});
    }
  }

  #interrupted({ interrupted, turn }: InterruptReceipt): void {
    if (interrupted && turn !== undefined) this.interrupted.push(turn);
  }

  #update(run: ActiveSession, name: keyof typeof UPDATES, input: JsonObject): unknown {
    const refused = refuseUpdate(run, name, input, this.now);
    if (refused === undefined) return takeUpdate(run, name, input, this.now);
    this.refusals.push(`${name}: ${refused.code}`);
    return undefined;
  }
}

/** Raises one of the limits of a session by a little. Without a limit it is refused. */
function higher(state: RunState): JsonObject {
  if (!isSession(state)) return {};
  const { turns, totalTokens } = limitsOf(state);
  if (turns !== null) return { turns: turns + 1 };
  return totalTokens === null ? { turns: 5 } : { totalTokens: totalTokens + 1_000 };
}

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
    const state = openSessionOf(execution.state);
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

function openSessionOf(state: RunState): OpenSession {
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
    if (isIdle !== (sessionOf(state)?.turn === undefined)) contradictions.push(`${moment}: ${state.status}`);
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
