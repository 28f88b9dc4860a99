import { expect, test } from 'vitest';
import { BYTE_BUDGETS, MAX_QUEUED_MESSAGES } from '../../src/domain/byte-budget.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../src/domain/payload-limit.ts';
import { cutText } from '../../src/domain/cut-content.ts';
import { continueBeforeModelCall, continueBeforeTool } from '../../src/loop/continuing.ts';
import { Inbox } from '../../src/loop/inbox.ts';
import type { Position, ToolsPosition } from '../../src/loop/next-step.ts';
import type { ToolOutcome } from '../../src/loop/ports.ts';
import { quietPorts } from '../../src/loop/quiet-ports.ts';
import { toCarry } from '../../src/loop/run-carry.ts';
import { newRunState, recordEvent, recordStep, type RunState, tally } from '../../src/loop/run-state.ts';
import { windowLimit } from '../../src/loop/window-limit.ts';
import { testSnapshot } from '../loop/snapshot.ts';

/** The characters whose JSON is longest. */
const LONGEST = '\u0001';

const PORTS = { ...quietPorts(), now: () => 1_700_000_000_000, uuid: () => crypto.randomUUID(), continueDue: () => true };
const ports = { ...PORTS, callModel: never, runTool: never, cancelRequested: () => false };

function never(): Promise<never> {
  return Promise.reject(new Error('nothing is called'));
}

/** A text whose JSON has so many bytes. */
function text(bytes: number): string {
  return 'x'.repeat(bytes - 2);
}

/** A run of which everything is as large as it may be, but the window. */
function largeRun(toolName = 'tool'): RunState {
  const name = 'a'.repeat(100);
  const window = { maxTokens: 1_000_000, maxBytes: 1_200_000, keepResults: 4, summarise: true };
  const small = testSnapshot({ name, window, instructions: [''] });
  const snapshot = { ...small, instructions: [text(BYTE_BUDGETS.snapshot - jsonBytes(small) + 2)] };
  const state = newRunState({ runId: 'r'.repeat(1_000), snapshot, input: text(BYTE_BUDGETS.startInput), startedAt: PORTS.now() }, PORTS);
  state.context.state = { k: text(BYTE_BUDGETS.state - 6) };
  for (let count = 0; count < 400; count += 1)
    tally(state, {
      toolName: `${toolName}${count}`,
      callId: '',
      arguments: {},
      result: '',
      isError: true,
      durationMs: 0,
      timestamp: '',
    });
  recordStep(state, { thought: LONGEST.repeat(100_000), toolCalls: [], usage: null, finishReason: 'stop' });
  return state;
}

/** The fullest inbox. */
function fullInbox(): Inbox {
  const inbox = new Inbox();
  inbox.cancelReason = cutText(LONGEST.repeat(100_000), BYTE_BUDGETS.errorMessage);
  for (let count = 0; count < 5_000; count += 1) {
    const message = {
      id: `${LONGEST.repeat(60)}${count}`,
      content: text(BYTE_BUDGETS.queue / MAX_QUEUED_MESSAGES),
      timestamp: 1_700_000_000.123,
    };
    if (!inbox.hasRoomFor(message)) inbox.take();
    inbox.add(message);
  }
  expect(inbox.queued).toBe(MAX_QUEUED_MESSAGES);
  return inbox;
}

/** Fills the window with events of so many bytes, as long as the run may continue. */
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

function carryBytes(state: RunState, position: Position): number {
  const deps = { k: text(BYTE_BUDGETS.deps - 6) };
  return jsonBytes(toCarry(state, position, { deps, executions: 1_000_000, inbox: fullInbox().carried() }));
}

test.each([100, 2_000, 50_000])('everything at its budget and a full window of events of %d bytes fit one payload', (eventBytes) => {
  const state = largeRun(LONGEST.repeat(120));
  fill(state, eventBytes, () => state.window.bytes <= (windowLimit(state) ?? 0));
  const position = { type: 'call_model', final: false } as const;
  expect(continueBeforeModelCall(state, ports, position)).toBeDefined();
  expect(carryBytes(state, position)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
});

test('the same in the middle of a response, with results of some of its calls', () => {
  const state = largeRun();
  const problems = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`c${index}`, text(BYTE_BUDGETS.errorMessage)]));
  const outcome: ToolOutcome = { type: 'result', status: 'success', content: [text(45_000)], durationMs: 1 };
  const response = { id: 'r', content: [], finishReason: 'tool_calls', usage: null, problems };
  const position: ToolsPosition = { type: 'run_tools', response, final: false, outcomes: [outcome, null] };
  fill(state, 2_000, () => continueBeforeTool(state, ports, position));
  expect(continueBeforeTool(state, ports, position)).toBe(true);
  expect(carryBytes(state, position)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
});

test('a window with less room than that is left for keeps the run where it is', () => {
  const state = largeRun();
  recordEvent(state, PORTS, { author: 'a', content: [{ type: 'message', role: 'assistant', content: text(BYTE_BUDGETS.modelText) }] });
  recordEvent(state, PORTS, { author: 'a', content: [{ type: 'message', role: 'assistant', content: text(BYTE_BUDGETS.modelText) }] });
  expect(continueBeforeModelCall(state, ports, { type: 'call_model', final: false })).toBeUndefined();
});
