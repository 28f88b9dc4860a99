import * as fc from 'fast-check';
import type { WindowPolicy } from '../../src/domain/compaction.ts';
import type { ContentItem } from '../../src/domain/content.ts';
import type { RecordedResponse } from '../../src/domain/recorded-response.ts';
import type { Window } from '../../src/domain/window.ts';
import type { ModelCallOutcome, SummaryOutcome, SummaryRequest, ToolInvocation, ToolOutcome } from '../../src/loop/ports.ts';
import type { RunState } from '../../src/loop/run-state.ts';
import type { Inbox } from '../../src/loop/inbox.ts';
import { call, message, tokens } from './fake-ports.ts';

/** What a tool does with one call of a generated run, and what else happens while it does. */
export interface PlannedCall {
  name: string;
  behaviour: 'now' | 'later' | 'error' | 'cancelled';
  /** Characters of its arguments and of its result. */
  asks: number;
  gives: number;
  setsState: boolean;
  problem: boolean;
  messages: number;
  pauses: boolean;
}

/** One model call of a generated run. */
export interface PlannedTurn {
  type: 'response' | 'too_long' | 'failed' | 'cancelled';
  text: string | null;
  calls: PlannedCall[];
  usage: [prompt: number, completion: number] | null;
  providerItems: boolean;
  /** What comes while the model answers. */
  messages: number;
  pauses: boolean;
}

/** A generated run: what everybody in it does, whatever execution it happens in. */
export interface PlannedRun {
  turns: PlannedTurn[];
  summaries: ('short' | 'long' | 'failed')[];
  window: WindowPolicy;
  maxIterations: number;
  finalAttempt: boolean;
  parallel: boolean;
  structured: boolean;
  cancelAt: number | null;
}

const rarely = fc.integer({ min: 0, max: 9 }).map((one) => one === 0);

/** One of `usual`, but for one in so many cases. */
function usually<T, U>(usual: readonly T[], other: U, cases: number): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: cases - 1, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constant(other) });
}

const messages = fc.constantFrom(0, 0, 0, 0, 1, 2);
const chars = fc.constantFrom(1, 10, 10, 100, 100, 400, 1_500);

const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  name: fc.constantFrom('known', 'known', 'known', 'known', 'known', 'lonely', 'nope', '__proto__', 'final_answer'),
  behaviour: usually(['now', 'later', 'error'] as const, 'cancelled' as const, 200),
  asks: chars,
  gives: chars,
  setsState: fc.boolean(),
  problem: rarely,
  messages,
  pauses: rarely,
});

const none: fc.Arbitrary<PlannedCall[]> = fc.constant([]);
const plannedCalls = fc.oneof(
  { weight: 12, arbitrary: fc.array(plannedCall, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: none },
);

const plannedTurn: fc.Arbitrary<PlannedTurn> = fc.record({
  type: fc.oneof(
    { weight: 60, arbitrary: fc.constant('response' as const) },
    { weight: 2, arbitrary: fc.constant('too_long' as const) },
    { weight: 1, arbitrary: fc.constantFrom('failed' as const, 'cancelled' as const) },
  ),
  text: fc.option(
    chars.map((length) => 't'.repeat(length)),
    { nil: null },
  ),
  calls: plannedCalls,
  usage: fc.option(fc.tuple(fc.nat(1_000), fc.nat(500)), { nil: null }),
  providerItems: rarely,
  messages,
  pauses: rarely,
});

/** Random runs, with windows so small that most of them are compacted. */
export const plannedRun: fc.Arbitrary<PlannedRun> = fc.record({
  turns: fc.array(plannedTurn, { minLength: 1, maxLength: 12 }),
  summaries: fc.array(usually(['short', 'short', 'long'] as const, 'failed' as const, 30), {
    minLength: 1,
    maxLength: 5,
  }),
  window: fc.record({
    maxTokens: fc.constantFrom(1_200, 3_000, 100_000),
    maxBytes: fc.constantFrom(3_000, 6_000, 12_000, 1_000_000),
    keepResults: fc.nat(4),
    summarise: usually([true], false, 4),
  }),
  maxIterations: fc.constantFrom(0, 1, 3, 8, 20, 30),
  finalAttempt: fc.boolean(),
  parallel: fc.boolean(),
  structured: fc.boolean(),
  cancelAt: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(15) }),
});

/** The world around a generated run: model, tools and users. It outlives the executions of the run. */
export class World {
  readonly #plan: PlannedRun;
  readonly #calls = new Map<string, PlannedCall>();
  /** What the model was asked, as it would be sent. */
  readonly requests: { window: Window }[] = [];
  readonly invocations: { callId: string; state: string }[] = [];
  readonly summaries: SummaryRequest[] = [];
  readonly accepted: string[] = [];
  cancelled = false;
  /** How often a paused run still has to wait. */
  #waits = 0;
  #modelCalls = 0;

  constructor(plan: PlannedRun) {
    this.#plan = plan;
  }

  async model(request: { window: Window }, inbox: Inbox): Promise<ModelCallOutcome> {
    this.requests.push(request);
    const place = this.#modelCalls++;
    if (this.#plan.cancelAt === place) this.cancelled = true;
    const turn = this.#plan.turns[place % this.#plan.turns.length];
    if (turn === undefined || turn.type === 'cancelled') return { type: 'cancelled' };
    this.#happen(turn, inbox);
    if (turn.type === 'too_long') return { type: 'failed', code: 'context_length_exceeded', message: 'too long' };
    if (turn.type === 'failed') return { type: 'failed', code: 'model_error', message: 'down' };
    return { type: 'response', response: this.#response(turn, place) };
  }

  async tool({ call: { toolCallId } }: ToolInvocation, state: RunState, inbox: Inbox): Promise<ToolOutcome> {
    this.invocations.push({ callId: toolCallId, state: JSON.stringify(state.context.state) });
    const planned = this.#calls.get(toolCallId);
    if (planned === undefined) throw new Error(`Nobody asked for call "${toolCallId}"`);
    this.#happen(planned, inbox);
    if (planned.behaviour === 'later') await new Promise((resolve) => setImmediate(resolve));
    if (planned.behaviour === 'cancelled') return { type: 'cancelled' };
    return {
      type: 'result',
      status: planned.behaviour === 'error' ? 'error' : 'success',
      content: ['r'.repeat(planned.gives)],
      durationMs: 1,
      resultId: `result of ${toolCallId}`,
      ...(planned.setsState ? { state: { last: toolCallId, [toolCallId]: 1 } } : {}),
    };
  }

  summary(request: SummaryRequest): SummaryOutcome {
    const place = this.summaries.push(request) - 1;
    const kind = this.#plan.summaries[place % this.#plan.summaries.length];
    if (kind === 'failed') return { type: 'failed', code: 'model_error', message: 'no summary' };
    const text = kind === 'long' ? 's'.repeat(request.maxBytes - 2) : `summary ${place}`;
    return { type: 'summary', id: `summary-${place}`, text, usage: tokens(10, 1) };
  }

  /** A paused run has waited once more. */
  waited(inbox: Inbox): void {
    this.#waits -= 1;
    if (this.#waits <= 0) inbox.paused = false;
    else this.#send(inbox);
  }

  #happen(planned: { messages: number; pauses: boolean }, inbox: Inbox): void {
    for (let sent = 0; sent < planned.messages; sent += 1) this.#send(inbox);
    if (!planned.pauses) return;
    inbox.paused = true;
    this.#waits = 3;
  }

  #send(inbox: Inbox): void {
    const id = `message-${this.accepted.length}`;
    this.accepted.push(id);
    inbox.add({ id, content: id, timestamp: 1_700_000_000 });
  }

  #response(turn: PlannedTurn, place: number): RecordedResponse {
    const calls = turn.calls.map((planned, index) => {
      const id = `c${place}-${index}`;
      this.#calls.set(id, planned);
      return call(id, planned.name, { output: 'a'.repeat(planned.asks) });
    });
    const problems = Object.fromEntries(
      calls.flatMap(({ toolCallId }, index) => (turn.calls[index]?.problem ? [[toolCallId, 'does not fit']] : [])),
    );
    const content: ContentItem[] = [...(turn.text === null && calls.length > 0 ? [] : [message(turn.text ?? '')]), ...calls];
    return {
      id: `response-${place}`,
      content,
      finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
      usage: turn.usage === null ? null : tokens(...turn.usage),
      problems,
      output: { type: 'parsed', value: place },
      ...(turn.providerItems ? { providerItems: [{ reasoning: place }] } : {}),
    };
  }
}
