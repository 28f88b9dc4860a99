import { expect, test } from 'vitest';
import { newProgramState, type StepState } from '../../src/core/domain/program-run.ts';
import { DEFAULT_MODEL_CALLS } from '../../src/core/domain/program-document.ts';
import { noUsage } from '../../src/core/domain/usage.ts';
import { newStep, newToolCallRecord } from '../../src/core/domain/tool-calls.ts';
import { countToolCall, newRunState } from '../../src/core/kernel/run-state.ts';
import { currentDetails } from '../../workflows/visibility.ts';
import { testSnapshot } from '../core/loop/fakes/snapshot.ts';
import { openAs } from '../../src/core/sessions/open-session.ts';
import type { SessionState } from '../../src/core/domain/sessions.ts';

const AT = '2023-11-14T22:13:20.000Z';

test('the details name the newest verified calls, with the reasons', () => {
  const state = newRunState(
    { runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: Date.parse(AT) },
    { now: () => Date.parse(AT), uuid: () => 'e0' },
  );
  const verified = { happened: false, reason: 'its worker gave no answer' };
  state.steps = [1, 2, 3, 4].map((step) => ({
    ...newStep(step),
    toolCalls: [newToolCallRecord('look', 'l', AT), { ...newToolCallRecord('pay', 'p', AT), verified }],
  }));
  const lines = currentDetails(state, { agentName: 'agent', missing: [] })
    .split('\n')
    .filter((line) => line.includes('verified'));
  expect(lines).toEqual(
    [2, 3, 4].map((step) => `- **pay** of step ${step} verified: it did not happen (its answer was lost: its worker gave no answer)`),
  );
});

test("the details of a session show its turns and tokens against its limits, and a turn's only while one is in progress", () => {
  const now = Date.parse(AT);
  const spent = { stepsUsed: 7, usage: { ...noUsage(), totalTokens: 900 }, toolCallsTotal: 0, toolCallsByName: {} };
  const state = newRunState(
    { runId: 'talk-1', snapshot: testSnapshot(), input: 'Q', startedAt: now },
    { now: () => now, uuid: () => 'e0' },
  );
  state.status = 'idle';
  state.context.currentStep = 7;
  const session: SessionState = { startedAt: now, turns: 3, spent, compactedAt: 0, limits: { turns: 10, costUsd: 2 } };
  openAs(state, session);
  const shown = (): string[] =>
    currentDetails(state, { agentName: 'agent', missing: [] })
      .split('\n')
      .filter((line) => /^(#|-)/.test(line));
  const idle = ['- **Turns** 3 of 10', '- **Tokens of all turns** 900 of 200000', '- **Cost of all turns** &#36;0.00 of &#36;2.00'];
  expect(shown()).toEqual([expect.stringMatching(/^### .*: idle$/), ...idle]);
  session.limits = { turns: 3 };
  expect(shown()).toContain('- **Limit** 3 of 3 turns are used: messages are refused until it is raised');
  session.limits = {};
  state.status = 'running';
  session.turn = { number: 3, stepsBefore: 6 };
  expect(shown()).toContain('- **Turn** 3');
  expect(shown()).toContainEqual(expect.stringMatching(/^- \*\*Step\*\* 1 of \d+$/));
});

test('the details of a program show its units, and the steps of each that run or have failed', () => {
  const now = Date.parse(AT);
  const state = newRunState({ runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: now }, { now: () => now, uuid: () => 'e0' });
  state.limits = { ...state.limits, steps: DEFAULT_MODEL_CALLS };
  state.thought = 'an answer of some step';
  const failure = { error: { code: 'anchor_breach' as const, message: 'no source', context: {} }, id: 'e1' };
  state.program = {
    ...newProgramState(
      {
        version: 1,
        name: 'p',
        units: ['read', 'fan', 'write', 'send'].map((name) => ({ name, steps: [{ name: 'S', ask: { prompt: 'Q' } }] })),
      },
      {},
    ),
    units: new Map([
      ['read', { status: 'failed', startedAt: now, endedAt: now + 1_500 }],
      ['fan', { status: 'running', startedAt: now }],
      ['write', { status: 'skipped', startedAt: now, endedAt: now, reason: 'it needs unit "read", which failed' }],
    ]),
    steps: new Map<string, StepState>([
      ['read.S', { kind: 'ask', status: 'failed', startedAt: now, attempts: 1, error: { ...failure.error, message: 'costs $5 or $6' } }],
      ['fan.S[0]', { kind: 'ask', status: 'completed', startedAt: now, attempts: 1 }],
      ['fan.S[1]', { kind: 'ask', status: 'running', startedAt: now, attempts: 2, progress: { failure } }],
      ...Array.from({ length: 6 }, (_, index): [string, StepState] => [
        `fan.S[${index + 2}]`,
        { kind: 'ask', status: 'running', startedAt: now, attempts: 1 },
      ]),
    ]),
  };
  const lines = currentDetails(state, { agentName: 'p', missing: [] }).split('\n');
  expect(lines).toContain('- **Model calls** 0');
  expect(lines.slice(lines.indexOf('**Units**') + 2, -2)).toEqual([
    '- **read** failed in 1.50s',
    '  - `S` failed: costs &#36;5 or &#36;6',
    '- **fan** running',
    '  - `S[1]` running, attempt 2: the attempt before failed: no source',
    ...[2, 3, 4, 5].map((index) => `  - \`S[${index}]\` running`),
    '  - and 2 more',
    '- **write** skipped: it needs unit "read", which failed',
    '- **send** not started',
  ]);
});

test('the details of a program name the child that waits for a person', () => {
  const state = newRunState({ runId: 'r', input: 'Q', snapshot: testSnapshot(), startedAt: 0 }, { now: () => 0, uuid: () => 'id' });
  const child = (runId: string): StepState => ({
    kind: 'agent',
    status: 'running',
    startedAt: 0,
    attempts: 1,
    progress: { child: { runId, startedAt: 0, seenAt: 0 } },
  });
  state.program = {
    ...newProgramState({ version: 1, name: 'p', units: [{ name: 'u', steps: [{ name: 'A', agent: { name: 'a', input: 'Go' } }] }] }, {}),
    units: new Map([['u', { status: 'running', startedAt: 0 }]]),
    steps: new Map([
      ['u.A[0]', child('r/u.A[0]')],
      ['u.A[1]', child('r/u.A[1]')],
    ]),
  };
  const lines = currentDetails(state, { agentName: 'p', missing: [], inbox: { slices: { waitingChildren: ['r/u.A[1]'] } } }).split('\n');
  expect(lines).toContain('  - `A[0]` running, run `r/u.A[0]`');
  expect(lines).toContain('  - `A[1]` running, run `r/u.A[1]` waits for a person');
});

test('the details name the calls that did not run apart from those that did', () => {
  const state = newRunState({ runId: 'r', input: 'Q', snapshot: testSnapshot(), startedAt: 0 }, { now: () => 0, uuid: () => 'id' });
  countToolCall(state, { toolName: 'look_up' });
  countToolCall(state, { toolName: 'refund', notRun: 'refused' });
  countToolCall(state, { toolName: 'cost $5', notRun: 'unknown' });
  const lines = currentDetails(state, { agentName: 'a', missing: [] }).split('\n');
  expect(lines).toContain('- **Tool calls** 1, 1 refused (refund), 1 unknown (cost &#36;5)');
});
