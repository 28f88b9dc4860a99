import { NOT_RUN, type NotRun } from '../../src/core/domain/tool-calls.ts';
import { expect, test } from 'vitest';
import { withUsedCallIds } from '../../src/core/domain/call-ids.ts';
import type { Decision } from '../../src/core/domain/approvals.ts';
import { BYTE_BUDGETS, cutText, jsonBytes, MAX_PAYLOAD_BYTES, MAX_QUEUED_MESSAGES } from '../../src/core/domain/byte-budgets.ts';
import { countToolCall, newRunState, noteError, recordEvent, recordStep, type RunState } from '../../src/core/kernel/run-state.ts';
import { continueBeforeModelCall, continueBeforeTool, toContinueAsNewState, windowLimit } from '../../src/core/kernel/continue-as-new.ts';
import { requestDigest } from '../../src/core/domain/requests.ts';
import { Inbox } from '../../src/core/kernel/inbox.ts';
import type { Position, ToolsPosition } from '../../src/core/kernel/next-step.ts';
import type { ToolOutcome } from '../../src/core/kernel/ports.ts';
import { quietPorts } from './loop/fakes/fake-ports.ts';
import { archiveProgress, beginArchiving, endArchiving } from '../../src/core/capabilities/archive.ts';
import { testSnapshot } from './loop/fakes/snapshot.ts';
import { decide } from '../../src/core/kernel/approvals.ts';

/** The characters with the longest JSON. */
const LONGEST = '\u0001';

const PORTS = { ...quietPorts(), now: () => 1_700_000_000_000, uuid: () => crypto.randomUUID(), continueDue: () => true };
const ports = { ...PORTS, callModel: never, runTool: never, cancelRequested: () => false };

function never(): Promise<never> {
  return Promise.reject(new Error('nothing is called'));
}

/** A text whose JSON has this many bytes. */
function text(bytes: number): string {
  return 'x'.repeat(bytes - 2);
}

/** A run whose data is as large as allowed, except for the window. */
function largeRun(toolName = 'tool'): RunState {
  const name = 'a'.repeat(100);
  const window = { maxTokens: 1_000_000, maxBytes: 1_200_000, keepResults: 4, summarize: true };
  const small = testSnapshot({ name, window, instructions: [''] });
  const snapshot = { ...small, instructions: [text(BYTE_BUDGETS.snapshot - jsonBytes(small) + 2)] };
  const state = newRunState({ runId: 'r'.repeat(1_000), snapshot, input: text(BYTE_BUDGETS.startInput), startedAt: PORTS.now() }, PORTS);
  state.context.state = { k: text(BYTE_BUDGETS.state - 6) };
  for (let count = 0; count < 400; count += 1) {
    countToolCall(state, { toolName: `${toolName}${count}` });
    for (const notRun of Object.keys(NOT_RUN) as NotRun[]) countToolCall(state, { toolName: `${toolName}${count}`, notRun });
  }
  recordStep(state, { thought: LONGEST.repeat(100_000), toolCalls: [], usage: null, finishReason: 'stop' });
  // Events without content, such as refused requests: the window has no entries for their ids. Their offsets are as long as they get.
  state.window.through = 1_000_000;
  for (let count = 0; count < 1_000; count += 1) recordEvent(state, PORTS, { author: 'user', content: [] });
  state.window.usedCallIds = withUsedCallIds(
    [],
    Array.from({ length: 1_000 }, (_, count) => `${count}x${LONGEST}`),
  );
  return state;
}

/** The fullest inbox. */
function fullInbox(): Inbox {
  const inbox = new Inbox();
  inbox.cancelReason = cutText(LONGEST.repeat(100_000), BYTE_BUDGETS.errorMessage);
  inbox.cancelAsked = true;
  for (let count = 0; count < 5_000; count += 1) {
    const message = {
      id: `${LONGEST.repeat(60)}${count}`,
      content: text(BYTE_BUDGETS.queue / MAX_QUEUED_MESSAGES),
      timestamp: new Date(1_700_000_000_123).toISOString(),
    };
    if (!inbox.hasRoomFor(message)) inbox.take();
    inbox.add(message);
    inbox.accepted.note(message.id, requestDigest('send', { content: message.content }));
  }
  expect(inbox.queued).toBe(MAX_QUEUED_MESSAGES);
  const refused = {
    request: 'approve',
    id: LONGEST.repeat(33),
    by: LONGEST.repeat(33),
    code: 'unknown_call',
    message: LONGEST.repeat(9_000),
  };
  for (let count = 0; count < 20; count += 1) inbox.refuse(refused);
  const decision = decisionOn('c0', { arguments: { k: text(BYTE_BUDGETS.decision - 6) } });
  expect(inbox.hasRoomForRequest(decision)).toBe(true);
  inbox.decide(decision);
  for (let count = 0; ; count += 1) {
    const raise = { id: `${count}`, limits: { steps: 1_000_000 }, by: LONGEST.repeat(200), at: AT };
    if (!inbox.hasRoomForRequest(raise)) return inbox;
    inbox.raise(raise);
  }
}

const AT = '2026-01-31T10:00:00.000Z';

function decisionOn(callId: string, more: Partial<Decision> = {}): Decision {
  return {
    id: `d-${callId}`,
    type: 'approve',
    callId,
    toolName: 'tool_with_a_name_like_most',
    digest: 'x'.repeat(22),
    by: 'somebody@example.org',
    source: 'update',
    at: AT,
    ...more,
  };
}

/** The most that 200 calls of one response may wait for, and the most that may have been decided in a long run. */
function fullApprovals(state: RunState): void {
  const { approvals } = state;
  for (let count = 0; count < 100; count += 1) decide(approvals, decisionOn(`r${count}`, { remember: 'arguments', reason: 'as agreed' }));
  for (let count = 0; count < 500; count += 1) decide(approvals, decisionOn(`call_${count}`, { reason: LONGEST.repeat(1_000) }));
  approvals.pending = Array.from({ length: 200 }, (_, index) => ({
    kind: 'tool',
    callId: `call_${'x'.repeat(24)}`,
    toolName: 'tool_with_a_name_like_most',
    digest: 'x'.repeat(22),
    key: `${crypto.randomUUID()}/${index}`,
    step: 1_000,
    requestedAt: PORTS.now(),
    deadlineAt: PORTS.now(),
    onDeadline: 'reject',
    reason: 'over the limit of what may be done without asking',
    notified: false,
  }));
  approvals.approved = [{ callId: 'c1', arguments: { k: text(BYTE_BUDGETS.decision - 6) } }];
  const toolCallsByName = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`tool_with_a_name_like_most_${index}`, 1_000]));
  state.limits = {
    ...state.limits,
    toolCalls: 1,
    inputTokens: 1,
    outputTokens: 1,
    totalTokens: 1,
    costUsd: 1,
    deadlineMs: 1,
    toolCallsByName,
  };
  for (const name of Object.keys(toolCallsByName)) state.toolCallsStarted.set(name, 1_000);
  noteError(state, LONGEST.repeat(400_000));
  for (let from = 0; from < 1_000_000; from += 10_000) failToArchive(state, from);
  expect(archiveProgress(state).notArchived?.length).toBeGreaterThan(10);
}

/** One more range of events that is missing in the archive, between archived ranges. */
function failToArchive(state: RunState, from: number): void {
  beginArchiving(state, { from, through: from + 5_000 }, PORTS.now());
  endArchiving(state, LONGEST.repeat(400_000));
}

/** Fills the window with events of this many bytes, as long as the run may continue. */
function fill(state: RunState, eventBytes: number, mayContinue: () => boolean): void {
  for (;;) {
    const { context, window } = state;
    const before = { context: { ...context, events: [...context.events] }, window };
    recordEvent(state, PORTS, {
      author: state.snapshot.name,
      content: [{ type: 'message', role: 'assistant', content: text(eventBytes) }],
    });
    if (mayContinue()) continue;
    Object.assign(state, before);
    return;
  }
}

function continuedStateBytes(state: RunState, position: Position): number {
  state.deps = { k: text(BYTE_BUDGETS.deps - 6) };
  // The last events that may be recorded before the state is carried.
  failToArchive(state, 1_000_000);
  return jsonBytes(toContinueAsNewState(state, position, { executions: 1_000_000, inbox: fullInbox().carried() }));
}

test.each([100, 2_000, 50_000])('all data at its budget and a full window of events of %d bytes fit into one payload', (eventBytes) => {
  const state = largeRun(LONGEST.repeat(120));
  fill(state, eventBytes, () => state.window.bytes <= (windowLimit(state) ?? 0));
  const position = { type: 'call_model', final: false } as const;
  expect(continueBeforeModelCall(state, ports, position)).toBeDefined();
  expect(continuedStateBytes(state, position)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
});

test('a run with pending calls, decisions, edited arguments and limits fits too, with any names that its model has made up', () => {
  const state = largeRun(LONGEST.repeat(120));
  fullApprovals(state);
  const position = { type: 'call_model', final: false } as const;
  expect(state.window.bytes).toBeGreaterThan(BYTE_BUDGETS.startInput);
  expect(continueBeforeModelCall(state, ports, position)).toBeDefined();
  fill(state, 100, () => continueBeforeModelCall(state, ports, position) !== undefined);
  expect(continuedStateBytes(state, position)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
});

test('pending calls keep a run in its execution only if their state does not fit', () => {
  const state = largeRun();
  fullApprovals(state);
  state.approvals.approved = Array.from({ length: 40 }, (_, index) => ({
    callId: `c${index}`,
    arguments: { k: text(BYTE_BUDGETS.decision - 6) },
  }));
  const position = { type: 'call_model', final: false } as const;
  expect(continueBeforeModelCall(state, ports, position)).toBeUndefined();
  state.approvals.approved = [];
  expect(continueBeforeModelCall(state, ports, position)).toBeDefined();
});

test('results that are already recorded do not keep a response from being carried', () => {
  const state = newRunState({ runId: 'r', snapshot: testSnapshot(), input: 'Q', startedAt: PORTS.now() }, PORTS);
  const response = { id: 'r', content: [], finishReason: 'tool_calls', usage: null };
  const outcome: ToolOutcome = { type: 'result', status: 'success', content: [text(150_000)], durationMs: 1 };
  expect(continueBeforeTool(state, ports, { response, outcomes: [outcome, null] })).toBe(false);
  expect(continueBeforeTool(state, ports, { response, outcomes: [{ ...outcome, recordedAt: AT }, null] })).toBe(true);
});

test('the same holds in the middle of a response, with results of some of its calls', () => {
  const state = largeRun();
  const problems = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`c${index}`, text(BYTE_BUDGETS.errorMessage)]));
  const outcome: ToolOutcome = { type: 'result', status: 'success', content: [text(45_000)], durationMs: 1 };
  const response = { id: 'r', content: [], finishReason: 'tool_calls', usage: null, problems };
  const position: ToolsPosition = { type: 'run_tools', response, final: false, outcomes: [outcome, null] };
  fill(state, 2_000, () => continueBeforeTool(state, ports, position));
  expect(continueBeforeTool(state, ports, position)).toBe(true);
  expect(continuedStateBytes(state, position)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
});

test('a window that leaves too little room keeps the run in its execution', () => {
  const state = largeRun();
  recordEvent(state, PORTS, { author: 'a', content: [{ type: 'message', role: 'assistant', content: text(BYTE_BUDGETS.modelText) }] });
  recordEvent(state, PORTS, { author: 'a', content: [{ type: 'message', role: 'assistant', content: text(BYTE_BUDGETS.modelText) }] });
  expect(continueBeforeModelCall(state, ports, { type: 'call_model', final: false })).toBeUndefined();
});
