import { describe, expect, it } from 'vitest';
import type { AgentSnapshot, ToolSnapshot } from '../../../../src/core/domain/agent.ts';
import { INTERRUPTED_CALL } from '../../../../src/core/domain/tool-calls.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import {
  call,
  called,
  type FakeRun,
  type FakeScript,
  type FakeTool,
  type Caller,
  resultsOf,
  returned,
  runFake,
  said,
} from '../fakes/fake-ports.ts';
import { approves, pauses, resumes, sends } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const DEADLINE_MS = 60_000;
const OVER_LIMIT = 'Tool call was not executed: the limit of tool calls of this run is reached.';
const large = { maxResultBytes: 2_000_000 };
const once = { effect: 'once' } as const;
const always = { approval: { when: 'always' } } as const;

/** One kind of batch: three calls, the first of tool `first`, which needs no decision, the others of tool `then`. */
interface BatchKind {
  kind: string;
  snapshot: AgentSnapshot;
  /** The calls that start before the first has ended. */
  atOnce: string[];
  /** The decisions without which the other calls do not start. */
  approvals: Caller[];
}

function batchKind(kind: string, first: Partial<ToolSnapshot>, then: Partial<ToolSnapshot>, more: Partial<AgentSnapshot> = {}): BatchKind {
  const startsTogether = more.parallel !== false && then.approval === undefined && first.maxResultBytes === undefined;
  return {
    kind,
    snapshot: testSnapshot({ tools: [testTool('first', first), testTool('then', then)], ...more }),
    atOnce: startsTogether ? ['c1', 'c2', 'c3'] : ['c1'],
    approvals: then.approval === undefined ? [] : [approves('c2'), approves('c3')],
  };
}

const BATCHES: BatchKind[] = [
  batchKind('in sequence', {}, {}, { parallel: false }),
  batchKind('together', {}, {}),
  batchKind('together, batched by bytes', large, large),
  batchKind('in sequence, with approvals', {}, always, { parallel: false }),
  batchKind('together, with approvals', {}, always),
  batchKind('in sequence, with outcomes that a person may be asked about', once, {}, { parallel: false, onUnknownOutcome: 'ask' }),
  batchKind('together, with outcomes that a person may be asked about', once, {}, { onUnknownOutcome: 'ask' }),
  batchKind('batched by bytes, with outcomes that a person may be asked about', { ...once, ...large }, large, { onUnknownOutcome: 'ask' }),
];

/** An event after which no call may start, and the ending of the run after it. */
interface Stop {
  stop: string;
  happens: (run: FakeRun) => unknown;
  status: string;
}

const STOPS: Stop[] = [
  { stop: 'a cancellation', happens: (run) => run.cancel(), status: 'cancelled' },
  { stop: 'a message that steers', happens: sends('rather this', 'steer'), status: 'completed' },
  { stop: 'a message that interrupts', happens: sends('rather this', 'interrupt'), status: 'completed' },
  { stop: 'the deadline of the run', happens: ({ scheduler }) => (scheduler.now += DEADLINE_MS), status: 'limit_reached' },
];

const STOPPED = BATCHES.flatMap((batch) => STOPS.map((stop) => ({ ...batch, ...stop })));

const GONE: ToolOutcome = {
  type: 'result',
  status: 'error',
  content: ['gone'],
  durationMs: null,
  noWorker: { code: 'unknown_tool', message: 'No worker has tool "first"' },
};

const calls = [call('c1', 'first'), call('c2', 'then'), call('c3', 'then')];

/** Runs a batch to the end of its run. `limits` are the agent's limits other than its steps and its deadline. */
async function runBatch(snapshot: AgentSnapshot, changes: Partial<FakeScript>, limits: Partial<AgentSnapshot['limits']> = {}) {
  const run = await runFake({
    snapshot: { ...snapshot, limits: { steps: 10, finalAttempt: false, deadlineMs: DEADLINE_MS, ...limits } },
    model: [called(...calls), said('done')],
    ...changes,
  });
  return { ...run, started: run.invocations.map((invocation) => invocation.call.toolCallId) };
}

/** A tool that runs for a while, during which this happens. */
function during(happens: (run: FakeRun) => unknown, outcome: ToolOutcome = returned('ran')): FakeTool {
  return async (_, run) => {
    await new Promise((resolve) => setImmediate(resolve));
    happens(run);
    return outcome;
  };
}

/** The results, with `ran` for the calls that started and another text for the rest. */
function ranOr(started: readonly string[], other: string): string[] {
  return calls.map(({ toolCallId, name }) => (started.includes(toolCallId) ? (name === 'first' ? 'ran' : 'then ran') : other));
}

const ALL = ['c1', 'c2', 'c3'];

describe('calls that have not started', () => {
  it.each(STOPPED)('are interrupted by $stop that comes with the response: $kind', async ({ snapshot, happens, status }) => {
    const run = await runBatch(snapshot, { model: [(one) => (happens(one), called(...calls)), said('done')] });
    expect(run.started).toEqual([]);
    expect(resultsOf(run, 1)).toEqual(ranOr([], INTERRUPTED_CALL));
    expect(run.result.status).toBe(status);
    expect(run.state.approvals.pending).toEqual([]);
  });

  it.each(STOPPED)('are interrupted by $stop that comes while a call runs: $kind', async ({ snapshot, happens, status, atOnce }) => {
    const run = await runBatch(snapshot, { tools: { first: during(happens) } });
    expect(run.started).toEqual(atOnce);
    expect(resultsOf(run, 1)).toEqual(ranOr(atOnce, INTERRUPTED_CALL));
    expect(run.result.status).toBe(status);
    expect(run.state.approvals.pending).toEqual([]);
  });

  it.each(BATCHES)('are interrupted by a call that no worker could make: $kind', async ({ snapshot, atOnce }) => {
    const run = await runBatch(snapshot, { tools: { first: during(() => undefined, GONE) } });
    expect(run.started).toEqual(atOnce);
    expect(resultsOf(run, 1)).toEqual(['gone', ...ranOr(atOnce, INTERRUPTED_CALL).slice(1)]);
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'unknown_tool' });
    expect(run.state.approvals.pending).toEqual([]);
  });

  it.each(STOPPED)('are interrupted by $stop even if the history is full: $kind', async ({ snapshot, happens, atOnce }) => {
    const continueDue: FakeScript['continueDue'] = ({ invocations, positions }) => invocations.length > 0 && positions.length === 0;
    const run = await runBatch(snapshot, { tools: { first: during(happens) }, continueDue });
    expect(run.started).toEqual(atOnce);
    expect(run.positions.filter(({ type }) => type === 'run_tools')).toEqual([]);
    const results = run.events.flatMap(({ content }) => content.flatMap((item) => (item.type === 'tool_result' ? [item.content] : [])));
    expect(results.flat()).toEqual(ranOr(atOnce, INTERRUPTED_CALL));
  });

  it.each(BATCHES)('are left to the next execution if the history is full before the first: $kind', async ({ snapshot, approvals }) => {
    const continueDue: FakeScript['continueDue'] = ({ modelCalls, positions }) => modelCalls.length > 0 && positions.length === 0;
    const run = await runBatch(snapshot, { tools: { first: () => returned('ran') }, callers: approvals, continueDue });
    expect(run.positions).toMatchObject([{ type: 'run_tools', outcomes: [null, null, null] }]);
    expect(run.started).toEqual(ALL);
    expect(resultsOf(run, 1)).toEqual(ranOr(ALL, ''));
  });

  it.each(BATCHES)('are left to the next execution if the history is full after the first: $kind', async (batch) => {
    const { snapshot, approvals, atOnce } = batch;
    const continueDue: FakeScript['continueDue'] = ({ invocations, positions }) => invocations.length > 0 && positions.length === 0;
    const run = await runBatch(snapshot, { tools: { first: during(() => undefined) }, callers: approvals, continueDue });
    const rest = { type: 'run_tools', outcomes: [{ content: ['ran'] }, null, null] };
    expect(run.positions).toMatchObject([atOnce.length === calls.length ? { type: 'call_model' } : rest]);
    expect(run.started).toEqual(ALL);
    expect(run.result).toMatchObject({ status: 'completed', toolCallsTotal: 3 });
  });

  it.each(BATCHES)('do not start over the limit of calls, which ends the run: $kind', async ({ snapshot }) => {
    const run = await runBatch(snapshot, { tools: { first: () => returned('ran') } }, { toolCalls: 1 });
    expect(run.started).toEqual(['c1']);
    expect(resultsOf(run, 1)).toEqual(ranOr(['c1'], OVER_LIMIT));
    expect(run.result.stopReason).toBe('tool_call_limit');
  });

  it.each(BATCHES)('start while the run is paused, which waits before the next model call: $kind', async ({ snapshot, approvals }) => {
    let asked: number | undefined;
    const resume: Caller = (run) => ((asked = run.modelCalls.length), expect(run.state.status).toBe('paused'), resumes(run));
    const run = await runBatch(snapshot, { tools: { first: during(pauses) }, callers: [...approvals, resume] });
    expect(run.started).toEqual(ALL);
    expect(resultsOf(run, 1)).toEqual(ranOr(ALL, ''));
    expect(asked).toBe(1);
  });

  const undecided = BATCHES.filter(({ approvals }) => approvals.length === 0);
  it.each(undecided)('start after the deadline if a person is asked at limits: $kind', async ({ snapshot }) => {
    const lasting: FakeTool = (_, { scheduler }) => ((scheduler.now += DEADLINE_MS), returned('ran'));
    const run = await runBatch(snapshot, { tools: { first: lasting }, callers: [({ cancel }) => cancel()] }, { onLimit: 'ask' });
    expect(resultsOf(run, 1)).toEqual(ranOr(ALL, ''));
  });

  it('that need no execution have their results also if the history is full', async () => {
    const sequence = testSnapshot({ parallel: false, tools: [testTool('first'), testTool('then')] });
    const fullAfterFirst: FakeScript['continueDue'] = ({ invocations, positions }) => invocations.length > 0 && positions.length === 0;
    const model = [called(...calls.slice(0, 1), call('c4', 'unknown')), said('done')];
    const run = await runBatch(sequence, { model, tools: { first: () => returned('ran') }, continueDue: fullAfterFirst });
    expect(run.positions[0]).toMatchObject({ type: 'call_model' });
  });

  it('overlap in the next execution as before: the limit of a call that must run alone changes nothing', async () => {
    const tools = [testTool('first', { approval: { when: 'always' } }), testTool('noting'), testTool('alone', { parallel: false })];
    const snapshot = testSnapshot({ tools });
    const model = [called(call('c1', 'first'), call('c2', 'noting'), call('c3', 'noting'), call('c4', 'alone')), said('done')];
    const seen: string[] = [];
    const noting: FakeTool = async ({ call: { toolCallId } }, run) => {
      seen.push(`${toolCallId} sees ${JSON.stringify(run.state.context.state)}`);
      return { ...returned('ran'), state: { last: toolCallId } };
    };
    const first = (): ToolOutcome => returned('ran');
    const whole = await runBatch(snapshot, { model, tools: { first, noting }, callers: [approves('c1')] }, { toolCalls: 3 });
    const seenWhole = seen.splice(0);
    const continueDue: FakeScript['continueDue'] = ({ modelCalls, positions }) => modelCalls.length > 0 && positions.length === 0;
    const split = await runBatch(snapshot, { model, tools: { first, noting }, callers: [approves('c1')], continueDue }, { toolCalls: 3 });
    expect(split.positions).toHaveLength(1);
    expect(seen).toEqual(seenWhole);
    expect(resultsOf(split, 1)).toEqual(resultsOf(whole, 1));
  });
});
