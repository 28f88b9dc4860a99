import { expect, test } from 'vitest';
import { printable } from '../../../src/core/domain/text.ts';
import { Output, showsColor, tableLines } from '../../../src/cli/output.ts';
import type { RunView } from '../../../src/cli/render/run-view.ts';
import { runLines } from '../../../src/cli/commands/show.ts';
import { listLines } from '../../../src/cli/commands/list.ts';
import type { RunRecord } from '../../../src/core/domain/record.ts';
import { newStep, newToolCallRecord, type StepResult } from '../../../src/core/domain/tool-calls.ts';
import { AT, waiting } from '../pending-approvals.ts';

const plain = { look: (_look: string, text: string) => text };

const view: RunView = {
  version: 1,
  runId: 'clerk-1',
  agentName: 'clerk',
  currentAgent: null,
  about: { agentName: 'clerk' },
  status: 'completed',
  stopReason: 'final_answer',
  finishReason: 'stop',
  steps: [],
  stepsUsed: 2,
  usage: { promptTokens: 20, completionTokens: 10, totalTokens: 30, cachedTokens: 0, reasoningTokens: 0, llmCalls: 2 },
  toolCallsTotal: 1,
  output: 'Shipped.',
  outputText: 'Shipped.',
  error: null,
  errorCode: null,
  cancelReason: null,
  startTime: AT,
  endTime: AT,
  durationSeconds: 1.234,
  limits: { steps: 10, finalAttempt: false },
  queued: 0,
  lastError: null,
  missing: [],
  waitsForWorker: null,
  archiving: null,
  postponed: [],
  notArchived: [],
  running: [],
  pending: [],
  remembered: [],
  decisions: [],
  refused: [],
  raised: [],
  unread: [],
  records: [],
  session: null,
  units: null,
};

function steps(...all: StepResult[]): RunRecord[] {
  return all.map((step, index) => ({ type: 'step', index, ...step }));
}

test('messages that no model has read are shown after the calls', () => {
  const unread = ['Hi', 'Are you\nthere?'].map((content, index) => ({ id: `m${index}`, content, timestamp: AT }));
  const lines = runLines({ ...view, status: 'error', queued: 2, unread }, { output: plain });
  expect(lines.slice(lines.indexOf('Not read'), -2)).toEqual(['Not read', '  Hi', '', '  Are you', '  there?', '']);
});

test('a call that waits until a time is shown with that time and the reason', () => {
  const postponed = [{ callId: 'c1', toolName: 'text', until: AT, reason: 'quiet hours until 07:00 (Europe/Berlin)' }];
  const lines = runLines({ ...view, status: 'running', postponed }, { output: plain });
  expect(lines.filter((line) => line.startsWith('Waits'))).toEqual([
    expect.stringMatching(`^Waits +text until ${AT}: quiet hours until 07:00 \\(Europe/Berlin\\)$`),
  ]);
});

test('the answers of hooks are shown with the calls and steps that they are about, and the answers about the run at its end', () => {
  const about = { on: 'pre_tool_use' as const, callId: 'call_1' };
  const call = {
    ...newToolCallRecord('search', 'call_1', AT),
    hooks: [
      { ...about, hook: 'cap', answer: 'modify' as const },
      { ...about, hook: 'guard', answer: 'failed' as const, text: 'broken', denied: true as const },
    ],
  };
  const hooks = [{ hook: 'polite', on: 'pre_request' as const, answer: 'inject' as const, text: 'Be polite.' }];
  const records = steps({ ...newStep(1), thought: null, toolCalls: [call], finishReason: 'tool_calls', hooks });
  const ofRun = [{ hook: 'end', on: 'session_end' as const, answer: 'failed' as const, text: 'late' }];
  const lines = runLines({ ...view, records, hooks: ofRun }, { output: plain });
  expect(lines.filter((line) => line.includes('⚑'))).toEqual([
    '  ⚑ polite adds (pre_request): Be polite.',
    '  ⚑ cap changes (pre_tool_use)',
    '  ⚑ guard failed, and so denies (pre_tool_use): broken',
    '  ⚑ end failed (session_end): late',
  ]);
});

test('the parts of a request that a provider ignored are shown with their step', () => {
  const records = steps({ ...newStep(1), thought: 'Shipped.', warnings: ['temperature is not\nsupported'] });
  expect(runLines({ ...view, records }, { output: plain })).toContain('  warning: temperature is not supported');
});

test('the share of the prompts that came from the cache of the provider is shown for a run and for each step', () => {
  const used = { promptTokens: 1_000, completionTokens: 10, totalTokens: 1_010, cachedTokens: 959 };
  const records = steps({ ...newStep(1), usage: used }, { ...newStep(2), usage: { ...used, cachedTokens: 0 } });
  const lines = runLines({ ...view, usage: { ...view.usage, ...used }, records }, { output: plain });
  expect(lines.filter((line) => line.includes('cached'))).toEqual([
    expect.stringMatching(/^Tokens +1010 \(prompt 1000, 95 % cached, completion 10\)/),
    expect.stringMatching(/^Step 1 .* 1010 tokens \(prompt 95 % cached\)$/),
  ]);
});

test('a run is shown with its steps, calls and output', () => {
  const call = { ...newToolCallRecord('search', 'call_1', AT), arguments: { query: 'order 42' }, result: 'found\nit', durationMs: 12.4 };
  const failed = { ...newToolCallRecord('search', 'call_2', AT), result: 'boom', isError: true };
  const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
  const records = steps(
    { ...newStep(1), thought: 'I look it up.', toolCalls: [call, failed], usage, finishReason: 'tool_calls' },
    { ...newStep(2), thought: 'Shipped.', final: true },
  );
  expect(runLines({ ...view, records }, { output: plain, link: 'http://ui/run' }).join('\n')).toBe(`Run       clerk-1
Agent     clerk
Status    completed
Steps     2 of at most 10, with 1 tool call
Tokens    30 (prompt 20, completion 10) in 2 model calls
Cost      unknown: no price for its model
Started   2026-01-02T03:04:05.000Z
Duration  1.23s
UI        http://ui/run

Step 1 · tool_calls · 15 tokens
  I look it up.
  → search {"query":"order 42"}
  ← (12 ms)
  │ found
  │ it
  → search {}
  ← error: boom

Step 2 (final attempt) · stop
  Shipped.

Output
  Shipped.`);
});

test('a failed run shows the error and its code, a run that ended at a limit the limit, and a cancelled run the reason', () => {
  const failed = runLines(
    { ...view, status: 'error', stopReason: 'error', error: 'bad key', errorCode: 'model_unauthorized' },
    { output: plain },
  );
  expect(failed).toEqual(expect.arrayContaining(['Status    error', 'Error (model_unauthorized)', '  bad key']));
  const limited = runLines({ ...view, status: 'max_iterations_reached', stopReason: 'step_limit' }, { output: plain });
  expect(limited).toContain('Status    max_iterations_reached (step_limit)');
  const cancelled = runLines({ ...view, status: 'cancelled', stopReason: 'cancelled', cancelReason: 'too slow' }, { output: plain });
  expect(cancelled).toEqual(expect.arrayContaining(['Status    cancelled', 'Cancelled', '  too slow']));
});

test('the usage of a run is shown with its limits, and estimates are marked', () => {
  const usage = {
    ...view.usage,
    costUsd: 0.001,
    estimated: { promptTokens: 5, completionTokens: 2, totalTokens: 7, costUsd: 0.0005 },
  };
  const limits = {
    steps: 10,
    finalAttempt: false,
    toolCalls: 50,
    toolCallsByName: { refund: 2 },
    inputTokens: 900,
    outputTokens: 100,
    totalTokens: 950,
    costUsd: 0.5,
    deadlineMs: 7_200_000,
  };
  const shown = runLines({ ...view, status: 'running', durationSeconds: null, usage, limits, queued: 2 }, { output: plain });
  expect(shown.slice(3)).toEqual([
    'Steps     2 of at most 10, with 1 tool call of at most 50 (refund at most 2)',
    'Tokens    37 of at most 950 (prompt 25 of at most 900, completion 12 of at most 100; 7 of them estimated) in 2 model calls',
    'Cost      $0.0015 of at most $0.50',
    'Started   2026-01-02T03:04:05.000Z',
    'Duration  still running',
    'Deadline  2026-01-02T05:04:05Z',
    'Queued    2 messages',
    '',
    'Output',
    '  Shipped.',
  ]);
});

test('a run whose agent was never resolved shows no limit of steps', () => {
  const unresolved = { ...view, stepsUsed: 0, steps: [], toolCallsTotal: 0 };
  for (const limits of [null, { steps: 0, finalAttempt: false }])
    expect(runLines({ ...unresolved, limits }, { output: plain })).toContain('Steps     0, with 0 tool calls');
});

test('a waiting run shows its pending calls, and the newest error', () => {
  const waits = { ...view, status: 'pending_confirmation' as const, outputText: '', pending: [waiting()], lastError: 'boom' };
  expect(
    runLines(waits, { output: plain, flags: { namespace: 'shop' } })
      .slice(8)
      .join('\n'),
  ).toBe(`
Waits for a decision
  refund · call c1 · step 2 of run clerk-1
    {"amount":5}
    since  2026-01-02T03:04:05Z
    npx longhaul approve clerk-1 c1 --namespace shop
    npx longhaul reject clerk-1 c1 --reason '…' --namespace shop
    Temporal UI, Send an Update, approve or reject: {"callId":"c1","id":"ui-event/c1","digest":"digest of c1"}

Last error
  boom`);
});

test('text from models and tools cannot control the terminal', () => {
  expect(printable('a\u001b[2Jb\u009b1mc\u0007\r\nd\te')).toBe('a\ufffd[2Jb\ufffd1mc\ufffd\nd\te');
  const reordering = ['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'];
  expect(reordering.map((control) => printable(`a${control}b`))).toEqual(reordering.map(() => 'a\ufffdb'));
  expect(runLines({ ...view, error: 'safe \u202egnp.exe' }, { output: plain }).join('')).toContain('safe \ufffdgnp.exe');
  expect(runLines({ ...view, outputText: 'x\u001b]0;title\u0007' }, { output: plain }).join('')).not.toContain('\u001b');
});

test('the columns of a table are as wide as their cells', () => {
  expect(
    tableLines(
      ['RUN', 'STATUS'],
      [
        ['clerk-1', 'completed'],
        ['c', 'error'],
      ],
      plain,
    ),
  ).toEqual(['RUN      STATUS', 'clerk-1  completed', 'c        error']);
});

test('a list of runs has a column for pending calls, if a run has any', () => {
  const run = {
    runId: 'clerk-1',
    kind: 'agent' as const,
    agentName: 'clerk',
    status: 'pending_confirmation' as const,
    startTime: AT,
    endTime: null,
  };
  const [header, waits, goesOn] = listLines(
    [
      { ...run, waitingFor: ['mail', 'refund'] },
      { ...run, waitingFor: [] },
    ],
    plain,
  );
  expect(header).toMatch(/DURATION +WAITING FOR$/);
  expect(waits).toMatch(/Z +mail, refund$/);
  expect(goesOn).toMatch(/Z$/);
  expect(listLines([{ ...run, waitingFor: [] }], plain)[0]).toMatch(/DURATION$/);
  expect(listLines([{ ...run, kind: 'program', waitingFor: [] }], plain)[0]).toMatch(/^RUN +AGENT OR PROGRAM +STATUS/);
});

test('a list of runs has a column for tags, if a run has any', () => {
  const run = {
    runId: 'clerk-1',
    kind: 'agent' as const,
    agentName: 'clerk',
    status: 'completed' as const,
    startTime: AT,
    endTime: null,
    waitingFor: [],
  };
  const [header, tagged, untagged] = listLines([{ ...run, tags: ['acme', 'nightly'] }, run], plain);
  expect(header).toMatch(/DURATION +TAGS$/);
  expect(tagged).toMatch(/Z +acme, nightly$/);
  expect(untagged).toMatch(/Z$/);
});

test('colors are only for terminals, and for users who have not turned them off', () => {
  const onTerminal = { isTTY: true, write: () => undefined };
  expect(showsColor({ stdout: onTerminal, env: {} })).toBe(true);
  expect(showsColor({ stdout: { write: () => undefined }, env: {} })).toBe(false);
  expect(showsColor({ stdout: onTerminal, env: { NO_COLOR: '1' } })).toBe(false);
  expect(showsColor({ stdout: onTerminal, env: { TERM: 'dumb' } })).toBe(false);
  expect(new Output({ stdout: onTerminal, stderr: onTerminal, env: {} }, false).look('red', 'x')).toBe('\u001b[31mx\u001b[39m');
  expect(new Output({ stdout: onTerminal, stderr: onTerminal, env: {} }, true).look('red', 'x')).toBe('x');
});
