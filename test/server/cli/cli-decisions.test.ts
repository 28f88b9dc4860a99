import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { Interruption } from '../../../src/cli/terminal.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, hang, say, type ScriptEntry, scriptedModel, together } from '../../../src/testing/index.ts';
import { callCli, type CliCallOptions, type CliOutcome } from '../../cli/call-cli.ts';
import { search } from '../testbed/agents.ts';
import { askColour, mail, refund } from '../approvals/decision-agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';
import { errorPage } from '../../../src/core/domain/errors.ts';

/** An agent that only this file uses: its name finds its runs among the runs of other tests. */
const teller = defineAgent({
  name: 'cli_teller',
  model: 'scripted/model-1',
  instructions: 'Answer.',
  tools: [search, refund, mail, askColour],
});

const pay = callTool('refund', { amount: 5 }, 'c1');

/** Calls the command line for the server of a test. */
async function cli(testbed: Testbed, args: readonly string[], options?: CliCallOptions): Promise<CliOutcome> {
  return callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue], options);
}

function json(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

async function started(testbed: Testbed, script: ScriptEntry[], flags: readonly string[] = []): Promise<RunHandle<unknown>> {
  await testbed.work({ agents: [teller], providers: { scripted: scriptedModel(script) } });
  const { stdout } = await cli(testbed, ['start', 'cli_teller', 'go', ...flags]);
  return testbed.client.handle<unknown>(stdout.trim());
}

async function waits(run: RunHandle<unknown>, calls = 1): Promise<void> {
  await until(async () => (await run.approvals()).pending.length === calls, 'the run waits for a decision');
}

test('the command line lists a call that waits, shows the command that approves it, approves it with other arguments, and shows the decision', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [together(say('I pay.'), pay), say('Paid.')]);
  await waits(run);
  const shown = (await cli(testbed, ['show', run.runId])).stdout;
  expect(shown).toContain('Status    pending_confirmation');
  expect(shown).toContain('  → refund {"amount":5}\n  … waits for a decision');
  expect(shown).toContain(`    npx longhaul approve ${run.runId} c1 --address ${testbed.address}\n`);
  const listed = ['list', '--waiting', 'refund', '--query', `TaskQueue = '${testbed.taskQueue}'`];
  await until(async () => (await cli(testbed, listed)).stdout.includes(run.runId), 'the run in the list');
  expect((await cli(testbed, [...listed, '--waiting'])).stdout).toMatch(/WAITING FOR +ASKED\n.* refund +go\n$/);
  expect((await cli(testbed, ['list', '--waiting', 'mail', ...listed.slice(3)])).stderr).toBe('No runs.\n');

  const misfit = await cli(testbed, ['approve', run.runId, '--arguments', '{"amount": "much"}']);
  expect(misfit).toMatchObject({ exitCode: 2, stdout: '' });
  expect(misfit.stderr).toMatch(/^longhaul: "arguments" for call "c1" does not fit tool "refund": .*\n$/);
  const approved = await cli(testbed, ['approve', run.runId, '--arguments', '{"amount": 3}', '--by', 'ann', '--id', 'd1']);
  expect(approved).toEqual({ exitCode: 0, stdout: 'Call "c1" of "refund" is approved by ann\n', stderr: '' });
  expect((await cli(testbed, ['result', run.runId])).stdout).toBe('Paid.\n');
  expect((await cli(testbed, ['show', run.runId])).stdout).toContain('✓ approved by ann with {"amount":3}\n  ← paid 3');
  const events = (await cli(testbed, ['events', run.runId])).stdout;
  expect(events).toMatch(/s {2}ann {15}approved refund \(call c1\) with \{"amount":3\}\n/);

  const [again] = json((await cli(testbed, ['approve', run.runId, 'c1', '--id', 'd1', '--json'])).stdout);
  expect(again).toMatchObject({ runId: run.runId, status: 'repeated', decision: { by: 'ann' } });
  const late = await cli(testbed, ['reject', run.runId, 'c1', '--reason', 'too late']);
  expect(late).toMatchObject({ exitCode: 11, stdout: '' });
  expect(late.stderr).toMatch(
    /^longhaul: Call "c1" of "refund" in run .* was approved by "ann" at .* \(decision "d1"\)\n  See \S+errors\.md#already_decided\n$/,
  );
});

test('if several calls wait, a decision has to name one; a question is answered, and a remembered decision is revoked', async () => {
  await using testbed = await Testbed.open();
  const script = [
    together(pay, callTool('ask_colour', { question: 'Which?' }, 'c2')),
    callTool('refund', { amount: 7 }, 'c3'),
    say('Done.'),
  ];
  const run = await started(testbed, script);
  await waits(run, 2);
  const unnamed = await cli(testbed, ['approve', run.runId]);
  expect(unnamed.exitCode).toBe(2);
  expect(unnamed.stderr).toContain('name one of "c1" (refund), "c2" (ask_colour)');
  const { stdout } = await cli(testbed, ['approvals', run.runId]);
  expect(stdout).toContain(`npx longhaul respond ${run.runId} c2 --value '{"colour":"…"}'`);

  const rejected = await cli(testbed, ['reject', run.runId, 'c1', '--reason', 'never', '--remember', 'tool', '--id', 'd1']);
  expect(rejected.stdout).toBe(`Call "c1" of "refund" is rejected by ${userInfo().username}: never\n`);
  expect(rejected.stderr).toContain(`npx longhaul revoke ${run.runId} d1`);
  const [page] = json((await cli(testbed, ['approvals', run.runId, '--json'])).stdout);
  expect(page).toMatchObject({
    runId: run.runId,
    pending: [{ callId: 'c2', kind: 'question' }],
    remembered: [{ id: 'd1', toolName: 'refund' }],
  });
  expect((await cli(testbed, ['revoke', run.runId, 'd1'])).stdout).toContain('holds for no further calls');
  expect((await cli(testbed, ['revoke', run.runId, 'd1'])).stdout).toContain('nothing to revoke');

  expect(await cli(testbed, ['respond', run.runId, '--text', 'green'])).toMatchObject({ exitCode: 2 });
  const answered = await cli(testbed, ['respond', run.runId, '--value', '{"colour": "green"}', '--by', 'bob']);
  expect(answered.stdout).toBe('Call "c2" of "ask_colour" is answered by bob\n');
  await until(async () => (await run.approvals()).pending[0]?.callId === 'c3', 'the next call waits: nothing is remembered any more');
  await cli(testbed, ['approve', run.runId, '--json']);
  expect((await cli(testbed, ['result', run.runId])).stdout).toBe('Done.\n');
  const gone = await cli(testbed, ['approve', run.runId]);
  expect(gone).toMatchObject({
    exitCode: 11,
    stderr: `longhaul: No call of run "${run.runId}" waits for a decision\n  See ${errorPage('unknown_call')}\n`,
  });
});

test('approvals --follow prints each approval as it becomes pending, in any run, until it is interrupted', async () => {
  await using testbed = await Testbed.open();
  const controller = new AbortController();
  let soFar = '';
  const args = ['approvals', '--agent', 'cli_teller', '--tool', 'refund', '--follow', '--json'];
  const following = cli(testbed, args, { signal: controller.signal, onStdout: (text) => (soFar = text) });
  const run = await started(testbed, [together(pay, callTool('mail', { to: 'b@example.net' }, 'c2')), say('Done.')]);
  await until(() => soFar.includes(run.runId), 'the approval on stdout');
  controller.abort(new Interruption('SIGINT'));
  expect(await following).toMatchObject({ exitCode: 130, stderr: '' });
  const own = json(soFar).filter((line) => (line as { runId: string }).runId === run.runId);
  expect(own).toMatchObject([{ callId: 'c1', toolName: 'refund', arguments: { amount: 5 }, digest: expect.any(String) as string }]);
  await run.cancel('seen enough');
});

test('limits of a start are shown and raised, and a limit is never lowered', async () => {
  await using testbed = await Testbed.open();
  const limits = ['--steps', '5', '--tool-calls', '3', '--tool-calls-of', 'refund=1', '--tokens', '1000', '--deadline', '2h'];
  const run = await started(testbed, [pay, say('Done.')], limits);
  await waits(run);
  const [view] = json((await cli(testbed, ['show', run.runId, '--json'])).stdout);
  const asGiven = { steps: 5, toolCalls: 3, toolCallsByName: { refund: 1 }, totalTokens: 1000, deadlineMs: 7_200_000 };
  expect(view).toMatchObject({ status: 'pending_confirmation', limits: asGiven, pending: [{ callId: 'c1' }] });
  const raised = await cli(testbed, ['raise', run.runId, '--steps', '8', '--tool-calls-of', 'refund=2', '--by', 'ann']);
  expect(raised.stdout).toBe(
    `Limits of run "${run.runId}" are now: steps 8, tool calls 3, tokens 1000, calls of refund 2, deadline 2h from the start\n`,
  );
  expect(await cli(testbed, ['raise', run.runId, '--tokens', '10'])).toMatchObject({ exitCode: 2, stdout: '' });
  await cli(testbed, ['approve', run.runId]);
  await run.result();
  const shown = (await cli(testbed, ['show', run.runId])).stdout;
  expect(shown).toContain('Steps     2 of at most 8, with 1 tool call of at most 3 (refund at most 2)\n');
  expect(shown).toContain('ann · raised limits: steps 8, calls of refund 2\n');
});

test('a run is paused, sent a message, resumed and cancelled', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [pay, hang('Well, I')]);
  await waits(run);
  expect((await cli(testbed, ['pause', run.runId])).stdout).toContain('is paused');
  const sent = await cli(testbed, ['send', run.runId, '-', '--mode', 'steer', '--id', 'm1'], { stdin: 'Stop that\n' });
  expect(sent.stdout).toMatch(/^Message "m1" is accepted: event \d+ or later, read before step \d+\n$/);
  const [receipt] = json((await cli(testbed, ['send', run.runId, 'Stop that', '--mode', 'steer', '--id', 'm1', '--json'])).stdout);
  expect(receipt).toMatchObject({ runId: run.runId, id: 'm1', queued: 1 });
  expect(json((await cli(testbed, ['resume', run.runId, '--json'])).stdout)).toEqual([{ runId: run.runId, paused: false }]);
  await until(async () => (await run.context()).events.some(({ content }) => JSON.stringify(content).includes('Stop that')), 'the message');
  const cancelled = await cli(testbed, ['cancel', run.runId, '--reason', 'enough', '--by', 'ann', '--json']);
  expect(json(cancelled.stdout)).toEqual([{ runId: run.runId, outcome: 'requested', reason: 'enough', by: 'ann' }]);
  expect((await cli(testbed, ['result', run.runId])).stderr).toContain('cancelled: enough (ann)');
  expect((await cli(testbed, ['show', run.runId])).stdout).toContain('user · Stop that\n');
  expect(await cli(testbed, ['pause', run.runId])).toMatchObject({ exitCode: 11, stdout: '' });
});

test('every command reports a run that does not exist', async () => {
  await using testbed = await Testbed.open();
  const commands = ['approvals', 'approve', 'reject', 'respond --text x', 'revoke', 'send', 'pause', 'resume', 'raise --steps 3'];
  for (const command of commands) {
    const [name = '', ...options] = command.split(' ');
    const operands = ['revoke', 'send'].includes(name) ? ['no-such-run', 'x'] : ['no-such-run'];
    const { exitCode, stdout, stderr } = await cli(testbed, [name, ...operands, ...options]);
    expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 6, stdout: '' });
    expect(stderr).toBe('longhaul: Namespace "default" has no run "no-such-run": "npx longhaul list" shows those it has\n');
  }
});
