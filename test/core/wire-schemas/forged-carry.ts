import type { HookRecord } from '../../../src/core/domain/hooks/hook-record.ts';
import { unreadable } from '../../../src/core/domain/json/unreadable.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { toContinueAsNewState } from '../../../src/core/loop/state/continue-as-new-state.ts';
import { newRunState } from '../../../src/core/loop/state/run-state.ts';
import { call, message } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';

/** The time at which these carried states are read. */
export const NOW = 1_700_000_000_000;

const CLOCK = { now: () => NOW - 1_000, uuid: () => 'event-0' };

const HOOK_RECORD: HookRecord = { hook: 'cap', on: 'pre_tool_use', answer: 'failed', text: 'x', denied: true, callId: 'c1' };

/** A carried state with a pending call, a finished call, and queued messages. It has nearly every field. */
export function waitingCarry(): JsonObject {
  const approval = { when: 'always' as const, deadlineMs: 60_000, onDeadline: 'reject' as const };
  const tools = [
    testTool('pay', { label: 'Payment', version: '2.1', approval, effect: 'once', taskQueue: 'payments' }),
    testTool('search', { backoff: { initialMs: 10, factor: 2, maxMs: 100 }, modelRetries: 1, heartbeatTimeoutMs: 1_000 }),
    testTool('order', { updates: ['cart'], notExecutable: true, result: { type: 'string' }, callers: ['model'] }),
    testTool('ask', { agent: { name: 'below', share: ['user'], limits: { totalTokens: 9 }, final: true, request: true, leaf: true } }),
  ];
  const remember = testTool('remember', { ofMemory: true, callers: ['model'] });
  const transfer = testTool('transfer_to_agent', { handoff: true, callers: ['model'] });
  const window = { maxTokens: 100_000, maxBytes: 400_000, keepResults: 4, summarise: true };
  const snapshot = testSnapshot({
    tools: [...tools, remember, transfer],
    window,
    description: 'Pays bills.',
    instructions: ['Be brief.'],
    prices: { 'scripted/model': { input: 1, output: 2 } },
    continueAsNew: { events: 1_000, bytes: 1_000_000, updates: 100 },
    approvals: { deadlineMs: 60_000 },
    checks: { step: 'Letter', anchors: ['SafeOutput'], range: { max: 5 } },
    replyFormat: 'json',
    handoffs: { agents: ['b'], max: 10 },
    guardrails: [{ name: 'polite', type: 'input', timeoutMs: 30_000, failOpen: true }],
    skills: [{ name: 'refunds', description: 'About refunds', digest: 'digest of refunds', allowedTools: ['search'], active: true }],
    memory: { name: 'desk', recall: { topK: 5, maxBytes: 4_096 }, tools: true },
    hooks: [{ name: 'slow', on: 'pre_tool_use', of: 'a', tier: 'remote', timeoutMs: 20_000, failClosed: true }],
    hookRecords: [{ hook: 'begin', on: 'session_start', answer: 'inject', text: 'x' }],
    children: { depth: 2, alive: 5, perTree: 50 },
    limits: { steps: 10, finalAttempt: true, toolCalls: 50, toolCallsByName: { pay: 5 }, costUsd: 5, deadlineMs: 600_000 },
  });
  const state = newRunState({ runId: 'run-1', snapshot, input: 'Q', deps: { user: 7 }, startedAt: NOW - 5_000 }, CLOCK);
  state.window.events.push(
    {
      offset: 1,
      id: 'event-1',
      author: 'a',
      content: [message('so far'), call('c1', 'pay'), call('c2', 'search')],
      providerItems: ['opaque'],
    },
    {
      offset: 2,
      id: 'event-2',
      author: 'a',
      content: [{ type: 'tool_result', toolCallId: 'c2', name: 'search', status: 'success', content: ['x'] }],
    },
  );
  Object.assign(state.window, { through: 3, lastEventId: 'event-2', bytes: 400 });
  Object.assign(state.context, { currentStep: 2, state: { k: 1 } });
  Object.assign(state, {
    thought: 'so far',
    lastStep: { thought: 'so far', final: false },
    measured: { tokens: 70, bytes: 300 },
    usage: { ...state.usage, promptTokens: 10, completionTokens: 5, totalTokens: 15, llmCalls: 2, costUsd: 0.5 },
    toolCallsTotal: 3,
    loadedSkills: ['refunds'],
    uncheckedFrom: 0,
    recallDue: true,
    principal: { tenant: 't', user: 'u', claims: { role: 'r' } },
    seenEvents: 1,
    lastError: 'too slow',
    children: [{ eventId: 'event-9', index: 1, runId: 'run-1/ask.9.1.a', startedAt: NOW, seenAt: NOW, given: { totalTokens: 5 }, runs: 2 }],
    hookRecords: [{ hook: 'begin', on: 'session_start', answer: 'inject', text: 'x' }],
    below: { usage: { ...state.usage, totalTokens: 3 }, toolCalls: 1, runs: 1 },
    limits: { ...snapshot.limits, steps: 12 },
    handoffs: {
      first: 'b',
      max: 10,
      count: 1,
      pinned: [testSnapshot({ name: 'b', digest: 'digest of b' })],
      flow: { name: 'f', kind: 'loop', agents: ['b', 'a'], maxIterations: 2, until: { const: 'enough' }, turn: 1, iteration: 1 },
      usage: [
        ['b', state.usage],
        ['a', state.usage],
      ],
    },
  });
  state.toolCallsByName.set('search', 3);
  state.toolCallsStarted.set('search', 4);
  state.modelRetries.set('search', 1);
  state.approvals.pending.push({
    kind: 'tool',
    callId: 'c1',
    toolName: 'pay',
    digest: 'of c1',
    key: 'event-1/0',
    step: 3,
    at: 'write.Letter',
    requestedAt: NOW - 1_000,
    deadlineAt: NOW + 59_000,
    onDeadline: 'reject',
  });
  const decided = {
    id: 'd0',
    callId: 'c0',
    toolName: 'search',
    digest: 'of c0',
    by: 'ann',
    source: 'update' as const,
    at: '2023-11-14T22:13:19.000Z',
  };
  state.approvals.decided.push({ ...decided, type: 'approve' });
  state.approvals.remembered.push({ id: 'd0', type: 'approve', toolName: 'search', by: 'ann', at: decided.at });
  const inbox = {
    messages: [{ id: 'm1', content: 'hurry', timestamp: new Date(NOW).toISOString(), mode: 'steer' as const }],
    seen: ['m0', 'm1'],
    seenTurns: [
      [0, 1],
      [2, 1],
    ] as [number, number][],
    paused: false,
    decisions: [
      { ...decided, id: 'd1', callId: 'c1', toolName: 'pay', digest: 'of c1', type: 'approve' as const, arguments: { amount: 1 } },
    ],
    raises: [{ id: 'r1', limits: { steps: 20 }, by: 'ann', at: decided.at }],
    refused: [{ request: 'send', id: 'm9', code: 'invalid_input', message: 'no' }],
  };
  const response = {
    id: 'event-1',
    content: [],
    finishReason: 'tool_calls',
    usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
    rewrites: { c1: {} },
    injections: { c1: 'read it' },
    hooks: [HOOK_RECORD],
    verdict: {
      anchors: { passed: true, checked: ['SafeOutput'], breaches: [], warnings: [], excused: [] },
      violations: [{ rule: 'range_above_max' as const, message: 'm', expected: 'e', actual: 'a', severity: 'error' as const }],
    },
  };
  const done = {
    type: 'result' as const,
    status: 'success' as const,
    content: ['x'],
    durationMs: 1,
    applied: true as const,
    recordedAt: decided.at,
  };
  const position = { type: 'run_tools' as const, response, final: false, outcomes: [null, done] };
  return throughJson(toContinueAsNewState(state, position, { executions: 3, inbox }));
}

/** The same run between two steps, without pending calls. */
export function idleCarry(): JsonObject {
  const carry = waitingCarry();
  const approvals = { pending: [], approved: [], decided: [], remembered: [] };
  return { ...carry, position: { type: 'call_model', final: false }, inbox: { messages: [], seen: [], paused: false }, approvals };
}

function throughJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** Values of a wrong type or size that a caller may write into a field. JSON parses `1e999` to infinity. */
export const HOSTILE: readonly JsonValue[] = [
  1e300,
  -1e300,
  JSON.parse('1e999') as number,
  2 ** 53,
  -1,
  0,
  0.5,
  '',
  'c1',
  'x'.repeat(3_000),
  null,
  true,
  [],
  {},
  [[]],
  { type: 'result' },
  JSON.parse('{"__proto__": {"polluted": true}}') as JsonValue,
  { ...unreadable('forged') },
  JSON.parse(`${'['.repeat(2_000)}${']'.repeat(2_000)}`) as JsonValue,
];

/** The position of a value inside another: the keys that lead to it. */
export type Path = readonly (string | number)[];

/** Every position in a value except its root. */
export function placesIn(value: JsonValue, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const entries: [string | number, JsonValue][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, one]) => [[...path, key], ...placesIn(one, [...path, key])]);
}

/** Replaces the value at the position; removes it if `change` is undefined. */
export function changedAt(value: JsonValue, [key, ...rest]: Path, change: JsonValue | undefined): JsonValue {
  if (key === undefined) return change ?? null;
  if (Array.isArray(value)) {
    const changed = rest.length === 0 && change === undefined ? [] : [changedAt(value[Number(key)] ?? null, rest, change)];
    return [...value.slice(0, Number(key)), ...changed, ...value.slice(Number(key) + 1)];
  }
  const { [key]: old = null, ...others } = value as JsonObject;
  return rest.length === 0 && change === undefined ? others : { ...others, [key]: changedAt(old, rest, change) };
}
