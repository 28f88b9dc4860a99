import { expect, test } from 'vitest';
import type { StreamItem, StreamItemContent } from '../../../src/client/stream/stream-item.ts';
import type { Decision } from '../../../src/core/domain/approvals.ts';
import type { HookRecord } from '../../../src/core/domain/hooks.ts';
import type { AggregatedUsage, UsageStats } from '../../../src/core/domain/usage.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { StepResult, ToolCallRecord } from '../../../src/core/domain/tool-calls.ts';
import type { RunResultFields } from '../../../src/core/domain/result.ts';
import type { Delta, StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { FakeRun } from '../../client/stream/fake-run.ts';
import { feedsOf } from '../../client/stream/read-stream.ts';
import { checkedHandler } from '../checked-handler.ts';
import { clientWithRun, send } from '../requests.ts';

const AT = '2026-11-25T00:00:00Z';
const TOKENS = { promptTokens: 2, completionTokens: 3, totalTokens: 5 };
const ESTIMATED = { ...TOKENS, costUsd: 0.1 };
const USAGE: Required<UsageStats> = { ...ESTIMATED, cachedTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 };
const RUN_USAGE: Required<AggregatedUsage> = { ...USAGE, llmCalls: 1, estimated: ESTIMATED };
const SPILLED = { store: 'file', claim: { key: 'k' }, bytes: 9, sha256: 'a'.repeat(64) };
const HOOK: Required<HookRecord> = { hook: 'audit', on: 'pre_tool_use', answer: 'failed', text: 'late', denied: true, callId: 'c' };

const DECISION: Required<Decision> = {
  id: 'd',
  type: 'approve',
  callId: 'c',
  toolName: 'pay',
  digest: 'x',
  arguments: { amount: 5 },
  sentArguments: { amount: 1 },
  content: null,
  reason: 'fine',
  remember: 'tool',
  by: 'ada',
  verifiedBy: 'ada',
  source: 'update',
  at: AT,
};

/** An event with every member of the type; no run records an event that has all of them. */
const EVENT: Required<Event> = {
  id: 'e',
  executionId: 'x',
  timestamp: AT,
  author: 'clerk',
  content: [
    { type: 'message', role: 'assistant', content: 'Hi' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image', url: 'https://a.example/i.png', mediaType: 'image/png', width: 1, height: 2 },
        { type: 'image', mediaType: 'image/png', spilled: SPILLED },
        { type: 'audio', data: 'AA==', format: 'wav' },
        { type: 'video', url: 'https://a.example/v.mp4', format: 'mp4' },
        { type: 'file', url: 'https://a.example/f.pdf', name: 'f.pdf' },
      ],
    },
    { type: 'tool_call', toolCallId: 'c', name: 'pay', arguments: { amount: 5 } },
    { type: 'tool_result', toolCallId: 'c', name: 'pay', status: 'error', content: ['no', { code: 1 }], spilled: SPILLED },
  ],
  answeredBy: 'p/c',
  caller: 'code',
  given: true,
  usage: USAGE,
  estimated: ESTIMATED,
  failedAttempts: { reported: USAGE, estimated: ESTIMATED },
  failed: { code: 'model_error' },
  interrupted: true,
  guarded: true,
  providerItems: [{ by: 'openai/gpt-x', account: '0a1b2c3d' }, { encrypted: 'x' }, null],
  sources: [{ url: 'https://a.example/', title: 'A', mediaType: 'text/html', filename: 'a.html', start: 0, end: 2 }],
  notices: [{ code: 'request_adapted', message: 'm' }],
  compaction: { evicted: [[0, 1]], summarized: { head: null, tail: 3 }, dropped: [2], hooks: [HOOK] },
  partial: true,
  contextUpdates: [{ callId: 'c', operations: [{ op: 'set', key: 'k', value: 1 }] }],
  decision: DECISION,
  refused: { request: 'send', id: 'm', callId: 'c', by: 'ada', code: 'not_authorized', message: 'no' },
  raised: { id: 'l', limits: { steps: 20 }, session: { turns: null }, by: null, at: AT },
  permissions: { id: 'p', permissions: { mode: 'default' }, by: 'ada', verifiedBy: 'ada', at: AT },
  guardrails: { findings: [{ name: 'g', type: 'input', message: 'm', outcome: 'warned' }], blocked: [0] },
  turn: { number: 1, status: 'completed', stopReason: 'final_answer', error: 'none', unanswered: ['m'] },
  cleared: true,
  title: 'A title',
  refresh: { failed: { code: 'unknown_agent', message: 'gone' } },
  memory: { entries: 2 },
  step: { at: 'sort.Kind', kind: 'ask', type: 'end', attempt: 1, startedAt: AT, status: 'completed', child: 'r/1', reused: true },
};

const CALL: Required<ToolCallRecord> = {
  toolName: 'pay',
  toolVersion: '2',
  capability: 'payments',
  callId: 'c',
  arguments: { amount: 5 },
  result: 'paid',
  isError: false,
  durationMs: 12.5,
  timestamp: AT,
  spilled: SPILLED,
  caller: 'code',
  notRun: 'refused',
  verified: { happened: true, reason: 'the worker was lost' },
  childRunId: 'r/1',
  hooks: [HOOK],
};

const STEP: Required<StepResult> = {
  step: 1,
  agent: 'clerk',
  answeredBy: 'p/c',
  tried: [{ model: 'p/a', code: 'model_unreachable' }],
  skipped: [{ model: 'p/b', reason: 'too_small' }],
  thought: 'Let me pay',
  toolCalls: [CALL, { ...CALL, durationMs: null }],
  usage: USAGE,
  finishReason: 'tool_calls',
  final: true,
  warnings: ['temperature is not supported'],
  hosted: [{ name: 'web_search', input: '{"query":"moon"}', isError: true }],
  hooks: [HOOK],
};

/** The result of a run as its stream has it: the client has replaced a cut output by the whole one. */
const RESULT: Required<Omit<RunResultFields, 'steps' | 'outputTruncated'>> = {
  version: 1,
  runId: 'r',
  agentName: 'clerk',
  output: { paid: true },
  status: 'error',
  stopReason: 'error',
  finishReason: 'length',
  stepsUsed: 1,
  usage: RUN_USAGE,
  toolCallsTotal: 1,
  toolCallsByName: { pay: 1 },
  toolCallsNotRun: { refused: { pay: 1 }, answered: { pay: 1 }, unknown: { nope: 1 }, invalid: { pay: 1 }, not_started: { pay: 1 } },
  startTime: AT,
  endTime: AT,
  durationSeconds: 1.5,
  descendants: { usage: RUN_USAGE, toolCalls: 1, runs: 1 },
  error: 'the model is gone',
  errorCode: 'model_error',
  cancelReason: 'enough',
  limits: { steps: 10 },
  turns: 2,
  notArchived: [{ from: 0, through: 2, message: 'full' }],
  units: [{ name: 'sort', status: 'completed', steps: [] }],
  unitsCut: true,
  verdict: { empty: true },
  lastAgent: 'clerk',
  usageByAgent: { clerk: RUN_USAGE },
  hooks: [HOOK],
  guardrail: { name: 'g', type: 'output', message: 'no' },
};

const DELTAS: { [Type in Delta['type']]: Delta & { type: Type } } = {
  text: { type: 'text', text: 'Hel' },
  reasoning: { type: 'reasoning', text: 'Hm' },
  tool_input: { type: 'tool_input', callId: 'c', toolName: 'pay', text: '{"a' },
  data: { type: 'data', callId: 'c', name: 'progress', data: { done: 1 } },
};

/** Items of each type, with every member that the types of the client have. */
const ITEMS: { [Type in StreamItem['type']]: readonly (StreamItemContent & { type: Type })[] } = {
  event: [
    { type: 'event', offset: 0, event: EVENT },
    { type: 'event', offset: 1, event: { ...EVENT, usage: null, memory: { unavailable: 'down' }, refresh: { digest: 'x' } } },
  ],
  step: [
    { type: 'step', step: STEP },
    { type: 'step', step: { ...STEP, thought: null, usage: null } },
  ],
  delta: Object.values(DELTAS).map((delta) => ({ type: 'delta', step: 1, attempt: 1, eventId: 'e', callId: 'c', delta })),
  reset: [
    { type: 'reset', step: 1, attempt: 2, callId: 'c', offset: 0 },
    { type: 'reset', step: 1, attempt: 2 },
  ],
  gap: [{ type: 'gap' }],
  status: (
    [
      'running',
      'pending_confirmation',
      'paused',
      'idle',
      'completed',
      'max_iterations_reached',
      'limit_reached',
      'error',
      'cancelled',
    ] as const
  ).map((status) => ({ type: 'status', status })),
  end: [{ type: 'end', result: RESULT }],
};

/** Reads a stream of a run by a handler that checks each item. Returns the data of its messages. */
async function dataOf(path: string, stream: (options: { signal: AbortSignal }) => AsyncGenerator<object>): Promise<unknown[]> {
  const response = await send(await checkedHandler(clientWithRun({ stream })), 'GET', path);
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as unknown);
}

test.each(Object.entries(ITEMS))('items of type "%s" fit the document, with every member that they can have', async (_, items) => {
  async function* stream(): AsyncGenerator<object> {
    for (const item of items) yield { ...item, cursor: 'c' };
  }
  for (const path of ['/v1/runs/r/stream', '/v1/sessions/r/stream']) expect(await dataOf(path, stream)).toEqual(items);
});

/**
 * Lets a run act: a discarded attempt, another attempt with a lost delta, a call that emits data, and the end. `arrived` resolves once the
 * reader has got an item or a delta of a type.
 */
async function act(run: FakeRun, arrived: (type: string) => Promise<void>): Promise<void> {
  const first: StreamedAttempt = { executionId: 'execution-1', eventId: 'answer-1', through: 0, activity: 1, attempt: 1 };
  const second = { ...first, eventId: 'answer-2', attempt: 2 };
  const ofCall = { ...second, callId: 'c', through: 1, activity: 2, attempt: 1 };
  await arrived('status');
  run.publish({ type: 'attempt', of: first });
  run.publish({ type: 'delta', of: first, index: 0, delta: DELTAS.reasoning });
  run.publish({ type: 'attempt', of: second });
  run.publish({ type: 'delta', of: second, index: 0, delta: DELTAS.text });
  run.publish({ type: 'delta', of: second, index: 2, delta: DELTAS.tool_input });
  await arrived('tool_input');
  run.record(second.eventId, [{ type: 'tool_call', toolCallId: 'c', name: 'pay', arguments: {} }], { usage: USAGE });
  run.announce();
  run.publish({ type: 'delta', of: ofCall, index: 0, delta: DELTAS.data });
  await arrived('data');
  run.record('result', [{ type: 'tool_result', toolCallId: 'c', name: 'pay', status: 'success', content: ['paid'] }]);
  run.end();
  run.announce();
}

test('the stream of a run fits the document from its first status to its end', async () => {
  const run = new FakeRun();
  const seen: string[] = [];
  async function* noted({ signal }: { signal: AbortSignal }): AsyncGenerator<object> {
    for await (const item of feedsOf(run).stream(undefined, signal)) {
      seen.push(item.type === 'delta' ? item.delta.type : item.type);
      yield item;
    }
  }
  const arrived = async (type: string): Promise<void> => {
    await expect.poll(() => seen).toContain(type);
  };
  const [items] = await Promise.all([dataOf('/v1/runs/run-1/stream', noted), act(run, arrived)]);
  const types = items.map((item) => (item as StreamItem).type);
  const answered = ['status', 'delta', 'reset', 'delta', 'gap', 'delta', 'event', 'step'];
  expect(types).toEqual([...answered, 'delta', 'event', 'status', 'end']);
});
