import type { ContentItem } from '../../../../src/core/domain/content.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { refuseUpdate, takeUpdate } from '../../../../src/core/handlers/requests.ts';
import type { ModelCallOutcome, ToolInvocation, ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import type { SummaryOutcome, SummaryRequest } from '../../../../src/core/capabilities/compaction.ts';
import type { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import type { MessageReceipt, UPDATES } from '../../../../src/core/protocol.ts';
import { type InterruptReceipt, sessionOf } from '../../../../src/core/domain/sessions.ts';
import { interruptOf, isSession, limitsOf } from '../../../../src/core/sessions/open-session.ts';
import { call, message, tokens } from '../../loop/fakes/fake-ports.ts';
import { FakeScheduler } from '../../loop/fakes/fake-scheduler.ts';
import type { PlannedAnswer, PlannedRequest, PlannedSession } from './planned-session.ts';

/** The present execution of a session, for the actors around it. */
export interface ActiveSession {
  runId: string;
  state: RunState;
  inbox: Inbox;
}

/** The model, the tools and the callers of a generated session, over all its executions. */
export class SessionActors extends FakeScheduler {
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
        const receipt = this.#update(run, 'send', { id: newest, content: newest }) as MessageReceipt;
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
