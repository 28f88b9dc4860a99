import { noUsage } from '../../../src/core/domain/usage.ts';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/run-handle.ts';
import type { RunApprovals } from '../../../src/client/executions.ts';
import { resultLine } from '../../../src/cli/render/run-view.ts';
import { waitForResult } from '../../../src/cli/commands/start.ts';
import { noteWaitingApprovals } from '../../../src/cli/render/approvals.ts';
import { newRunResult } from '../../core/domain/new-run-result.ts';
import { commandIo } from '../command-io.ts';
import { runApprovals, waiting } from '../pending-approvals.ts';

test('a command that waits for a run prints its pending calls once, with the commands that decide them, and that it is paused', async () => {
  const kept = commandIo();
  const ended = new AbortController();
  const waits = runApprovals([waiting()]);
  const answers: (RunApprovals | undefined)[] = [undefined, waits, waits, runApprovals([], { status: 'paused' }), waits];
  const approvals = (): Promise<RunApprovals> => {
    const answer = answers.shift();
    if (answers.length === 0) ended.abort();
    return answer === undefined ? Promise.reject(new Error('no worker answers')) : Promise.resolve(answer);
  };
  await noteWaitingApprovals(kept.io, { runId: 'clerk-1', approvals }, { flags: { namespace: 'shop' }, ended: ended.signal, everyMs: 1 });
  expect(kept.stdout()).toBe('');
  expect(kept.stderr()).toBe(`The run waits for a decision:
  refund · call c1 · step 2 of run clerk-1
    {"amount":5}
    since  2026-01-02T03:04:05Z
    npx longhaul approve clerk-1 c1 --namespace shop
    npx longhaul reject clerk-1 c1 --reason '…' --namespace shop
The run is paused. It continues after:
  npx longhaul resume clerk-1 --namespace shop
`);
});

test('the commands that wait for a result print the notes next to the result', async () => {
  const kept = commandIo();
  const asked = Promise.withResolvers<void>();
  const run = {
    runId: 'clerk-1',
    approvals: () => Promise.resolve(runApprovals([waiting()])).finally(() => setImmediate(asked.resolve)),
    result: async () => {
      await asked.promise;
      return newRunResult({ runId: 'clerk-1', agentName: 'clerk', output: 'Paid.' });
    },
  };
  expect(await waitForResult(kept.io, { temporal: {} as Client }, run as unknown as RunHandle<unknown>, { flags: {} })).toBe(0);
  expect(kept.stdout()).toBe('Paid.\n');
  expect(kept.stderr()).toMatch(/npx longhaul approve clerk-1 c1\n[^]*\[completed\] clerk/);
});

test('the line of a result has the tokens that were estimated, and says that an answer was cut off', () => {
  const usage = { ...noUsage(), totalTokens: 2, estimated: { promptTokens: 20, completionTokens: 18, totalTokens: 38 } };
  const line = resultLine(newRunResult({ runId: 'r', agentName: 'clerk', usage, finishReason: 'length', durationSeconds: 1 }));
  expect(line).toContain('| 40 tokens (38 of them estimated) | 1.00s | finish: length');
});

test('the line of a result has counts in words', () => {
  const result = { runId: 'r', agentName: 'clerk', stepsUsed: 2, limits: { steps: 5 }, durationSeconds: 1.234 };
  const called = { toolCallsTotal: 1, toolCallsByName: { look_up_order: 1 } };
  expect(resultLine(newRunResult({ ...result, ...called }))).toBe(
    '[completed] clerk | 2/5 steps | 1 tool call (look_up_order ×1) | 0 tokens | 1.23s',
  );
  expect(resultLine(newRunResult({ ...result, toolCallsTotal: 3, toolCallsByName: { a: 2, b: 1 } }))).toContain(
    '| 3 tool calls (a ×2, b ×1) |',
  );
  expect(resultLine(newRunResult(result))).toContain('| 0 tool calls |');
  const notRun = { refused: { refund: 1 }, unknown: { 'no\u001bpe': 2 } };
  const line = resultLine(newRunResult({ ...result, ...called, toolCallsNotRun: notRun }));
  expect(line).toMatch(/\| 1 tool call \(look_up_order ×1\), 1 refused \(refund\), 2 unknown \(no.*pe ×2\) \|/);
  expect(line).not.toContain('\u001b');
});
