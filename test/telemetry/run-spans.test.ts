import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Event } from '../../src/core/domain/record.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import type { TurnResultFields } from '../../src/core/domain/sessions.ts';
import type { StepResult } from '../../src/core/domain/tool-calls.ts';
import { tracedPart } from '../../src/core/domain/traced-part.ts';
import { noUsage } from '../../src/core/domain/usage.ts';
import {
  attemptSpanId,
  idGenerator,
  rootSpanId,
  type RunTrace,
  spanIdOf,
  traceOfChild,
  traceOfStart,
  traceOfTurn,
} from '../../src/telemetry/ids.ts';
import { lossSpan, runSpans } from '../../src/telemetry/run-spans.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { plainApi, RecordingSdk } from './recording-sdk.ts';

const RUN = { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' };
const BEGAN = Date.UTC(2026, 0, 1);
const SECRET = 'sk-never-in-a-span';

/** What happens in one step of a run: a call, and how it ended. */
interface Happened {
  waits: boolean;
  /** A message has ended the wait, before anybody has decided. */
  abandons?: boolean;
  child: 'none' | 'new' | 'kept';
  turn: boolean;
}

/** A record of a run, and its steps by the number of events after which each is known. */
interface Recorded {
  events: Event[];
  steps: StepResult[];
  stepsAfter: number[];
  turns: TurnResultFields[];
  turnsAfter: number[];
  waited: Set<string>;
}

function recordOf(all: readonly Happened[]): Recorded {
  const events: Event[] = [];
  const recorded: Recorded = { events, steps: [], stepsAfter: [], turns: [], turnsAfter: [], waited: new Set() };
  const at = (): string => new Date(BEGAN + events.length * 1_000).toISOString();
  const add = (event: Partial<Event>): number =>
    events.push({ id: `e${events.length}`, executionId: RUN.runId, timestamp: at(), author: 'clerk', content: [], ...event });
  const keptId = `${RUN.runId}/ask.1.0.abcdefgh`;
  let hasKept = false;
  add({ author: 'user', content: [{ type: 'message', role: 'user', content: SECRET }] });
  for (const [index, { waits, abandons = false, child, turn }] of all.entries()) {
    const callId = `c${index}`;
    const offset = events.length;
    add({ usage: null, content: [{ type: 'tool_call', toolCallId: callId, name: 'ask', arguments: { text: SECRET } }] });
    if (waits || abandons) recorded.waited.add(callId);
    if (waits && !abandons) {
      const decision = {
        id: `d${index}`,
        type: 'approve',
        callId,
        toolName: 'ask',
        digest: 'x',
        by: 'ada',
        source: 'update',
        at: at(),
      } as const;
      add({ decision });
    }
    const begunNow = `${RUN.runId}/ask.${offset}.0.abcdefgh`;
    const childRunId = child === 'kept' && hasKept ? keptId : begunNow;
    hasKept ||= begunNow === keptId;
    const timestamp = at();
    add({ content: [{ type: 'tool_result', toolCallId: callId, name: 'ask', status: 'success', content: [SECRET] }] });
    if (abandons) add({ author: 'user', content: [{ type: 'message', role: 'user', content: SECRET }] });
    const call = { toolName: 'ask', callId, arguments: {}, result: SECRET, isError: false, durationMs: 250.4, timestamp };
    const toolCalls = [child === 'none' ? call : { ...call, childRunId }];
    recorded.steps.push({ step: index + 1, thought: SECRET, toolCalls, usage: null, finishReason: 'tool_calls' });
    recorded.stepsAfter.push(events.length);
    if (turn) {
      const number = recorded.turns.length + 1;
      const { steps: _, ...ended } = resultOf(events);
      recorded.turns.push({ ...ended, turn: number, firstStep: index + 1 });
      add({ turn: { number, status: 'completed', stopReason: 'final_answer' } });
      recorded.turnsAfter.push(events.length);
    }
  }
  return recorded;
}

function resultOf(events: readonly Event[]): RunResultFields {
  return {
    version: 1,
    runId: RUN.runId,
    agentName: 'clerk',
    output: SECRET,
    status: 'completed',
    stopReason: 'final_answer',
    stepsUsed: 2,
    usage: { ...noUsage(), promptTokens: 100, completionTokens: 20, totalTokens: 120, llmCalls: 3, cacheWriteTokens: 40 },
    toolCallsTotal: 2,
    toolCallsByName: { ask: 2 },
    startTime: new Date(BEGAN).toISOString(),
    endTime: new Date(BEGAN + events.length * 1_000).toISOString(),
    durationSeconds: events.length,
    error: null,
    limits: {} as RunResultFields['limits'],
  };
}

const HAPPENED = fc.array(
  fc.record({ waits: fc.boolean(), abandons: fc.boolean(), child: fc.constantFrom('none', 'new', 'kept'), turn: fc.boolean() }),
  {
    minLength: 1,
    maxLength: 12,
  },
) as fc.Arbitrary<Happened[]>;

/** Returns the place of the recorded run: a session's place if it has turns. */
function placeOf({ turns }: Recorded): RunTrace {
  return { ...traceOfStart(RUN, undefined), ...(turns.length === 0 ? {} : { isSession: true }) };
}

/** Returns the spans that the executions of a run report, which end after the given numbers of events. */
function spansOfExecutions(recorded: Recorded, cuts: readonly number[]): ReturnType<typeof runSpans> {
  const { events, steps, stepsAfter, turns, turnsAfter } = recorded;
  const ends = [...new Set(cuts.map((cut) => cut % events.length))].toSorted((one, other) => one - other);
  const trace = placeOf(recorded);
  return [...ends, events.length].flatMap((end, index) => {
    const firstOffset = ends[index - 1] ?? 0;
    const within = (after: readonly number[], at: number): boolean => (after[at] ?? 0) > firstOffset && (after[at] ?? 0) <= end;
    const ended = turnsAfter.filter((after) => after <= end).length;
    const part = tracedPart({
      agentName: 'clerk',
      firstOffset,
      events: events.slice(firstOffset, end),
      steps: steps.filter((_, at) => within(stepsAfter, at)),
      turns: turns.filter((_, at) => within(turnsAfter, at)),
      waited: recorded.waited,
      ...(turns.length === 0 ? {} : { turnsBegun: turnsAfter.includes(end) ? ended : ended + 1 }),
      ...(end === events.length ? { result: resultOf(events) } : {}),
    });
    return runSpans(trace, part);
  });
}

describe('the spans of a run', () => {
  test('are equal in two workers that fold the same record', () => {
    fc.assert(
      fc.property(HAPPENED, (all) => {
        const exported = [0, 1].map(() => {
          const sdk = new RecordingSdk(idGenerator);
          const telemetry = new Telemetry(plainApi(sdk), {});
          const { events, steps } = structuredClone(recordOf(all));
          const trace = traceOfStart(RUN, undefined);
          const part = tracedPart({ agentName: 'clerk', firstOffset: 0, events, steps, result: resultOf(events) });
          for (const span of runSpans(trace, part)) telemetry.report(trace, span);
          return sdk.exported;
        });
        expect(exported[0]).toEqual(exported[1]);
        expect(exported[0]?.length).toBeGreaterThan(0);
        expect(JSON.stringify(exported)).not.toContain(SECRET);
      }),
    );
  });

  test('have one content for each id, also if executions report their own parts and somebody the whole', () => {
    fc.assert(
      fc.property(HAPPENED, fc.array(fc.nat(40), { maxLength: 4 }), (all, cuts) => {
        const recorded = recordOf(all);
        const whole = new Map(spansOfExecutions(recorded, []).map((span) => [span.spanId, span]));
        const parts = spansOfExecutions(recorded, cuts);
        expect(whole.size).toBe(spansOfExecutions(recorded, []).length);
        for (const span of parts) expect(span).toEqual(whole.get(span.spanId));
        const ids = parts.map(({ spanId }) => spanId);
        expect(new Set(ids).size).toBe(ids.length);
        // Below the run, or the turn in whose trace they are, and that below nothing.
        const turns = recorded.turns.length + 1;
        const places =
          recorded.turns.length === 0 ? [placeOf(recorded)] : [...Array(turns).keys()].map((at) => traceOfTurn(placeOf(recorded), at + 1));
        const roots = new Map(places.map((place) => [place.traceId, rootSpanId(place)]));
        expect(roots.size).toBe(places.length);
        for (const { spanId, traceId, parentSpanId } of parts)
          expect(parentSpanId).toBe(spanId === roots.get(traceId) ? undefined : roots.get(traceId));
      }),
    );
  });

  test('of a session form a trace for each turn, which links to the previous turn; in a session that a run keeps they are below the session', () => {
    const recorded = recordOf([
      { waits: true, child: 'none', turn: true },
      { waits: false, child: 'none', turn: true },
    ]);
    const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const part = tracedPart({
      agentName: 'clerk',
      firstOffset: 0,
      ...recorded,
      turnsBegun: 2,
      result: { ...resultOf(recorded.events), turns: 2 },
    });
    const session: RunTrace = { ...traceOfStart(RUN, caller), isSession: true };
    const [wait, first, second, ...rest] = runSpans(session, part);
    expect(rest).toEqual([]);
    expect(first).toMatchObject({ name: 'invoke_agent clerk', traceId: session.traceId, parentSpanId: 'b7ad6b7169203331' });
    expect(first?.attributes).toMatchObject({ 'longhaul.turn': 1, 'gen_ai.usage.input_tokens': 100 });
    expect(wait).toMatchObject({ traceId: first?.traceId, parentSpanId: first?.spanId });
    expect(second?.traceId).not.toBe(first?.traceId);
    expect(second?.parentSpanId).toBeUndefined();
    expect(second?.links).toEqual([{ traceId: first?.traceId, spanId: first?.spanId }]);
    const kept = runSpans(traceOfChild(RUN, session), part);
    expect(new Set(kept.map(({ traceId }) => traceId))).toEqual(new Set([session.traceId]));
    expect(kept.at(-1)?.spanId).toBe(spanIdOf(RUN, 'run'));
    for (const span of kept.slice(0, -1)) expect(span.parentSpanId).toBe(spanIdOf(RUN, 'run'));
  });

  test('are without lost caches, whose models the part names for the metrics', () => {
    const { events } = recordOf([{ waits: false, child: 'none', turn: false }]);
    const notices = [{ code: 'cache_lost' as const, message: 'x' }];
    const lost = events.map((event, index) =>
      index === 1 ? { ...event, notices, answeredBy: 'b/c' } : index === 2 ? { ...event, notices } : event,
    );
    const part = tracedPart({ agentName: 'clerk', firstOffset: 0, events: lost, steps: [], model: 'a/b' });
    expect(part.cachesLost).toEqual(['b/c', 'a/b']);
    expect(runSpans(traceOfStart(RUN, undefined), part)).toEqual([]);
  });

  test('of a wait without a decision say what has ended it: a message, the end of the turn, of the run, or of its execution by the server', () => {
    const trace = traceOfStart(RUN, undefined);
    const { events, steps, waited } = recordOf([{ waits: true, abandons: true, child: 'none', turn: false }]);
    const base = { agentName: 'clerk', firstOffset: 0, steps, waited };
    const outcomes = (part: object): unknown[] =>
      runSpans(trace, tracedPart({ ...base, events, ...part })).flatMap(({ name, attributes }) =>
        name === 'longhaul.wait' ? [attributes['longhaul.wait.outcome'], attributes['longhaul.decision']] : [],
      );
    expect(outcomes({})).toEqual(['message', undefined]);
    const abandoned = events.slice(0, -1);
    // The archive is stored, or the end is notified: the result comes later.
    expect(outcomes({ events: abandoned, isOpen: true })).toEqual([]);
    expect(outcomes({ isOpen: true })).toEqual(['message', undefined]);
    const ended = { ...resultOf(abandoned), status: 'cancelled' as const, stopReason: 'cancelled' as const };
    expect(outcomes({ events: abandoned, result: ended })).toEqual(['cancelled', undefined]);
    expect(outcomes({ events: abandoned, result: { ...ended, stopReason: 'deadline' } })).toEqual(['deadline', undefined]);
    const turn = { number: 1, status: 'cancelled' as const, stopReason: 'cancelled' as const };
    const last = { id: 'e9', executionId: RUN.runId, timestamp: ended.endTime ?? '', author: 'clerk', content: [], turn };
    expect(outcomes({ events: [...abandoned, last], turns: [], turnsBegun: 1 })).toEqual(['cancelled', undefined]);
    const cutOff = { stopReason: 'terminated' as const, to: BEGAN + 60_000 };
    const waiting = events.slice(0, 2);
    expect(outcomes({ events: waiting })).toEqual([]);
    expect(outcomes({ events: waiting, cutOff })).toEqual(['terminated', undefined]);
    const [wait] = runSpans(trace, tracedPart({ ...base, events: waiting, cutOff }));
    expect(wait).toMatchObject({ startTime: BEGAN + 1_000, endTime: BEGAN + 60_000 });
    // A decision says itself what it is.
    const decided = recordOf([{ waits: true, child: 'none', turn: false }]);
    expect(outcomes({ events: decided.events, waited: decided.waited })).toEqual(['approve', 'approve']);
  });

  test('of a call that has not waited for anybody are none, whatever has ended it', () => {
    const { events, steps } = recordOf([{ waits: true, abandons: true, child: 'none', turn: false }]);
    const part = tracedPart({ agentName: 'clerk', firstOffset: 0, events, steps });
    expect(runSpans(traceOfStart(RUN, undefined), part)).toEqual([]);
  });

  test('of a lost attempt have the id that its own worker would have given a tool call, and another one for a model call', () => {
    const place = traceOfStart(RUN, undefined);
    const lost = { agent: 'clerk', activity: '7', attempt: 2, step: 3, from: BEGAN, to: BEGAN + 500 };
    const tool = lossSpan(place, { ...lost, call: 'c1', toolName: 'search' });
    expect(tool).toMatchObject({
      name: 'execute_tool search',
      spanId: attemptSpanId(RUN, 'tool', { call: 'c1', activity: '7', attempt: 2 }),
      error: 'worker_lost',
    });
    const model = lossSpan(place, { ...lost, call: '4', model: 'openai/gpt' });
    expect(model).toMatchObject({ name: 'chat gpt', attributes: { 'error.type': 'worker_lost', 'gen_ai.provider.name': 'openai' } });
    expect(model.spanId).not.toBe(attemptSpanId(RUN, 'chat', { call: '4', activity: '7', attempt: 2 }, 1));
  });

  test('name the run, its waits and its calls of children, with tokens under both names of cache writes', () => {
    const { events, steps } = recordOf([{ waits: true, child: 'new', turn: false }]);
    const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const trace = traceOfStart(RUN, caller);
    const part = tracedPart({ agentName: 'clerk', firstOffset: 0, events, steps, result: resultOf(events) });
    const [wait, child, run] = runSpans(trace, part);
    expect([wait?.name, child?.name, run?.name]).toEqual(['longhaul.wait', 'execute_tool ask', 'invoke_agent clerk']);
    expect(run).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', parentSpanId: 'b7ad6b7169203331' });
    expect(run?.attributes).toMatchObject({
      'gen_ai.conversation.id': 'clerk-1',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.cache_write.input_tokens': 40,
      'gen_ai.usage.cache_creation.input_tokens': 40,
      'longhaul.status': 'completed',
    });
    expect(wait?.attributes).toMatchObject({ 'longhaul.decision': 'approve', 'gen_ai.tool.call.id': 'c0' });
    expect(Math.round((child?.endTime ?? 0) - (child?.startTime ?? 0))).toBe(250);
    // The child finds its parent span by its own id.
    const childRun = { namespace: 'default', runId: `${RUN.runId}/ask.1.0.abcdefgh`, firstExecutionId: '99aa' };
    expect(traceOfChild(childRun, trace)).toEqual({ run: childRun, traceId: trace.traceId, parentSpanId: child?.spanId, isSampled: true });
  });
});
