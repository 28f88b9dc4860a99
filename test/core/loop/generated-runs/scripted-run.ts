import type { PendingApproval } from '../../../../src/core/domain/approvals.ts';
import type { ContentItem, MessageMode } from '../../../../src/core/domain/content.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import type { LimitChanges, RunLimits } from '../../../../src/core/domain/limits.ts';
import type { RecordedResponse } from '../../../../src/core/domain/model.ts';
import type { Spent } from '../../../../src/core/domain/usage.ts';
import type { Window } from '../../../../src/core/domain/window.ts';
import type { ModelCallOutcome, ToolInvocation, ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import type { SummaryOutcome, SummaryRequest } from '../../../../src/core/capabilities/compaction.ts';
import type { MessageReceiver } from '../../../../src/core/handlers/decisions.ts';
import { call, FakeScheduler, message, tokens } from '../fakes/fake-ports.ts';
import { update } from '../fakes/callers.ts';
import type { PlannedCall, PlannedRun, PlannedTurn } from './planned-run.ts';

/** The current execution of a run, for the actors around it. */
export interface ActiveRun extends Required<Omit<MessageReceiver, 'principal' | 'opensAs' | 'agentName' | 'programInput'>> {
  /** The record so far, of all executions. */
  record(): Event[];
}

/** A model call, a summary or a tool call at its start: everything that uses up a limit. */
export interface Begun {
  what: 'model' | 'summary' | { tool: string };
  final: boolean;
  /** The record and the limits at that time. */
  record: Event[];
  limits: RunLimits;
  now: number;
}

/** The model, the tools and the callers of a generated run, over all its executions. */
export class ScriptedActors extends FakeScheduler {
  readonly #plan: PlannedRun;
  readonly #calls = new Map<string, PlannedCall>();
  /** The requests to the model. */
  readonly requests: { window: Window }[] = [];
  readonly invocations: { callId: string; arguments: JsonObject; state: string }[] = [];
  readonly summaries: SummaryRequest[] = [];
  readonly accepted: string[] = [];
  readonly begun: Begun[] = [];
  /** The number of times that a paused run has waited. */
  pauses = 0;
  /** The number of times that a paused run still has to wait. */
  #waits = 0;
  #modelCalls = 0;
  #answers = 0;

  constructor(plan: PlannedRun) {
    super();
    this.#plan = plan;
  }

  async model(request: { window: Window; final: boolean }, run: ActiveRun): Promise<ModelCallOutcome> {
    this.#begin(run, 'model', request.final);
    this.requests.push(request);
    const index = this.#modelCalls++;
    if (this.#plan.cancelAt === index) this.cancel();
    const turn = this.#plan.turns[index % this.#plan.turns.length];
    if (turn === undefined || turn.type === 'cancelled') return { type: 'cancelled' };
    this.#happen(turn, run);
    const failed = spent(turn);
    if (turn.type === 'too_long') return { type: 'failed', code: 'context_length_exceeded', message: 'too long', ...failed };
    if (turn.type === 'failed') return { type: 'failed', code: 'model_error', message: 'down', ...failed };
    // It uses no step: retrying every time would never end.
    if (turn.type === 'interrupted' && index < this.#plan.turns.length) return this.#interrupted(turn, index, run);
    return { type: 'response', response: this.#response(turn, index) };
  }

  async tool({ call: { toolCallId, name, arguments: args } }: ToolInvocation, run: ActiveRun): Promise<ToolOutcome> {
    this.#begin(run, { tool: name });
    this.invocations.push({ callId: toolCallId, arguments: args, state: JSON.stringify(run.state.context.state) });
    const planned = this.#calls.get(toolCallId);
    if (planned === undefined) throw new Error(`No model has made call "${toolCallId}"`);
    this.#happen(planned, run);
    if (planned.behavior === 'later') await new Promise((resolve) => setImmediate(resolve));
    if (planned.behavior === 'cancelled') return { type: 'cancelled' };
    return {
      type: 'result',
      status: planned.behavior === 'error' ? 'error' : 'success',
      content: ['r'.repeat(planned.gives)],
      durationMs: 1,
      resultId: `result of ${toolCallId}`,
      ...(planned.setsState ? { state: { last: toolCallId, [toolCallId]: 1 } } : {}),
    };
  }

  summary(request: SummaryRequest, run: ActiveRun): SummaryOutcome {
    this.#begin(run, 'summary');
    const index = this.summaries.push(request) - 1;
    const kind = this.#plan.summaries[index % this.#plan.summaries.length];
    if (kind === 'failed') return { type: 'failed', code: 'model_error', message: 'no summary' };
    const text = kind === 'long' ? 's'.repeat(request.maxBytes - 2) : `summary ${index}`;
    return { type: 'summary', id: `summary-${index}`, text, usage: tokens(300, 30) };
  }

  #begin(run: ActiveRun, what: Begun['what'], final = false): void {
    this.begun.push({ what, final, record: run.record(), limits: run.state.limits, now: this.now });
  }

  /** Sends the next planned request while the run waits, if there is one. */
  say(run: ActiveRun): boolean {
    if (run.inbox.paused) {
      this.#waitOn(run);
      return true;
    }
    const waiting = run.state.approvals.pending.find((one) => one.kind === 'limit' || this.#calls.get(one.callId)?.decision !== 'deadline');
    if (waiting === undefined) return false;
    if (waiting.kind === 'limit') this.#answer(waiting, run);
    else this.#decide(waiting, run);
    return true;
  }

  #waitOn(run: ActiveRun): void {
    this.pauses += 1;
    this.#waits -= 1;
    if (this.#waits <= 0) update(run, 'resume', {});
    else this.#send(run);
  }

  #answer({ callId, digest, proposal }: PendingApproval, run: ActiveRun): void {
    const id = `answer ${this.#answers}`;
    const answer = this.#plan.answers[this.#answers++] ?? 'reject';
    if (answer === 'message') this.#send(run);
    else if (answer === 'pause') this.#pause(run);
    else if (answer === 'raise') update(run, 'raise', { id, limits: proposal as LimitChanges });
    else update(run, answer, { callId, id, digest });
  }

  #decide({ callId, digest }: PendingApproval, run: ActiveRun): unknown {
    const about = { callId, digest, id: `decision on ${callId}`, by: 'ann' };
    switch (this.#calls.get(callId)?.decision) {
      case 'edit':
        return update(run, 'approve', { ...about, arguments: { output: 'edited' } });
      case 'reject':
        return update(run, 'reject', { ...about, reason: 'no' });
      case 'respond':
        return update(run, 'respond', { ...about, content: { answer: callId } });
      case 'remember_tool':
        return update(run, 'approve', { ...about, remember: 'tool' });
      case 'remember_arguments':
        return update(run, 'approve', { ...about, remember: 'arguments' });
      case 'remember_no':
        return update(run, 'reject', { ...about, remember: 'arguments' });
      default:
        return update(run, 'approve', about);
    }
  }

  #happen(planned: { messages: number; pauses: boolean }, run: ActiveRun): void {
    for (let sent = 0; sent < planned.messages; sent += 1) this.#send(run);
    if (planned.pauses) this.#pause(run);
  }

  #pause(run: ActiveRun): void {
    update(run, 'pause', {});
    this.#waits = 3;
  }

  #send(run: ActiveRun, mode: MessageMode = this.#plan.steers ? 'steer' : 'queue'): void {
    const id = `message-${this.accepted.length}`;
    this.accepted.push(id);
    update(run, 'send', { id, content: id, mode });
  }

  #interrupted(turn: PlannedTurn, index: number, run: ActiveRun): ModelCallOutcome {
    this.#send(run, 'interrupt');
    if (turn.text === null) return { type: 'interrupted' };
    const content = [message(turn.text)];
    return { type: 'interrupted', partial: { id: `response-${index}`, content, usage: null, finishReason: 'interrupted' } };
  }

  #response(turn: PlannedTurn, place: number): RecordedResponse {
    const calls = turn.calls.map((planned, index) => {
      const id = `c${place}-${index}`;
      this.#calls.set(id, planned);
      return call(id, planned.name, { output: 'a'.repeat(planned.asks) });
    });
    const planned = calls.map((one, index) => [one.toolCallId, turn.calls[index]] as const);
    const problems = Object.fromEntries(planned.flatMap(([id, one]) => (one?.problem ? [[id, 'does not fit']] : [])));
    const approvals = Object.fromEntries(planned.flatMap(([id, one]) => (one?.name === 'asked' ? [[id, termsOf(one)]] : [])));
    const content: ContentItem[] = [...(turn.text === null && calls.length > 0 ? [] : [message(turn.text ?? '')]), ...calls];
    return {
      id: `response-${place}`,
      content,
      finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
      usage: turn.usage === null ? null : tokens(...turn.usage),
      problems,
      approvals,
      output: { type: 'parsed', value: place },
      ...(turn.failedAttempts === null ? {} : { failedAttempts: attempts(turn.failedAttempts) }),
      ...(turn.providerItems ? { providerItems: [{ reasoning: place }] } : {}),
    };
  }
}

function termsOf({ asks, decision }: PlannedCall): NonNullable<RecordedResponse['approvals']>[string] {
  return { digest: `of ${asks}`, ...(decision === 'deadline' ? { deadlineMs: 60_000 } : {}) };
}

function spent({ failedAttempts }: PlannedTurn): { spent?: Spent } {
  return failedAttempts === null ? {} : { spent: attempts(failedAttempts) };
}

function attempts([reported, estimated]: [number, number]): Spent {
  return { reported: tokens(reported, 1), estimated: tokens(estimated, 1) };
}
