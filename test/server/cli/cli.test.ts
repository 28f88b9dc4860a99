import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { Interruption } from '../../../src/cli/terminal.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { callCli, type CliCallOptions, type CliOutcome } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** Calls the command line for the server and the task queue of a test. */
async function cli(testbed: Testbed, args: readonly string[], options?: CliCallOptions): Promise<CliOutcome> {
  return callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue], options);
}

function lines(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

const SCRIPT = [together(say('I look.'), callTool('search', { query: 'a' })), say('17,000 hours')];

test('start --wait prints the answer on stdout and everything about the run on stderr', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(SCRIPT) } });
  const { exitCode, stdout, stderr } = await cli(testbed, ['start', 'assistant', 'How long?', '--wait']);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '17,000 hours\n' });
  expect(stderr).toMatch(/^Run assistant-[0-9a-f-]{36}\n/);
  expect(stderr).toContain('[completed] assistant | 2/10 steps | 1 tool call (search ×1) | 30 tokens');
});

test('start prints the id of the run, and result, show and events accept it', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(SCRIPT) } });
  const started = await cli(testbed, ['start', 'assistant', '-'], { stdin: 'How long?\n' });
  const runId = started.stdout.trim();
  expect(runId).toMatch(/^assistant-/);

  const whole = await cli(testbed, ['result', runId, '--json', '--with-steps']);
  expect(JSON.parse(whole.stdout)).toMatchObject({ steps: [{ step: 1 }, { step: 2 }] });
  const result = await cli(testbed, ['result', runId, '--json']);
  expect(JSON.parse(result.stdout)).not.toHaveProperty('steps');
  expect(result.exitCode).toBe(0);
  expect(lines(result.stdout)).toEqual([expect.objectContaining({ runId, status: 'completed', output: '17,000 hours', success: true })]);

  const shown = await cli(testbed, ['show', runId, '--json']);
  const [view] = lines(shown.stdout);
  expect(view).toMatchObject({ runId, agentName: 'assistant', status: 'completed', stepsUsed: 2, error: null, cancelReason: null });
  expect(view).toMatchObject({ steps: [{ toolCalls: [{ toolName: 'search', result: 'found: a' }] }, { thought: '17,000 hours' }] });
  expect((await cli(testbed, ['show', runId])).stdout).toContain('→ search {"query":"a"}\n  ← found: a');

  const events = await cli(testbed, ['events', runId, '--json']);
  expect(lines(events.stdout)).toMatchObject([0, 1, 2, 3].map((offset) => ({ offset, executionId: runId })));
  expect(lines(events.stdout)[0]).toMatchObject({ author: 'user', content: [{ type: 'message', content: 'How long?' }] });
  const later = await cli(testbed, ['events', runId, '--from', '3']);
  expect(later.stdout).toContain('17,000 hours');
  expect(later.stdout).not.toContain('I look.');
});

test('starting a run under an existing id is refused, or returns the existing run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('once')]) } });
  const runId = `cli-${randomUUID()}`;
  const start = ['start', 'assistant', 'Q', '--wait', '--run-id', runId];
  expect((await cli(testbed, start)).stdout).toBe('once\n');
  const refused = await cli(testbed, start);
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
  expect(refused.stderr).toContain(`Run "${runId}" exists already`);
  expect(await cli(testbed, [...start, '--if-exists', 'return'])).toMatchObject({ exitCode: 0, stdout: 'once\n' });
});

test('the exit code says how the run ended', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' })], { repeatLast: true });
  await testbed.work({ agents: [assistant], providers: { scripted }, missingTimeout: '5s' });
  const limited = await cli(testbed, ['start', 'assistant', 'Q', '--wait', '--steps', '2']);
  expect(limited).toMatchObject({ exitCode: 5 });
  expect(limited.stderr).toContain('[max_iterations_reached] assistant | 2/2 steps');
  const unknown = await cli(testbed, ['start', 'asistant', 'Q', '--wait']);
  expect(unknown).toMatchObject({ exitCode: 3, stdout: '' });
  expect(unknown.stderr).toContain('Did you mean "assistant"? The run waits for another worker until');
  expect(unknown.stderr).toContain('error (unknown_agent): No agent "asistant"');
});

test('events --follow prints events as they happen, and ends with the run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([SCRIPT[0] ?? say(''), hang('so far')]) } });
  const handle = await testbed.client.start('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  let soFar = '';
  const following = cli(testbed, ['events', handle.runId, '--follow', '--json'], { onStdout: (text) => (soFar = text) });
  await until(() => soFar.includes('found: a'), 'the result of the tool');
  expect(soFar).not.toContain('so far');
  await handle.cancel('seen enough');
  const { exitCode, stdout } = await following;
  expect(exitCode).toBe(0);
  expect(lines(stdout).at(-1)).toMatchObject({ offset: 3, interrupted: true, content: [{ content: 'so far' }] });
});

test('cancel records its reason in the result, and a second cancel has no effect', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([hang()]) } });
  const { runId } = await testbed.client.start('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  const cancelled = await cli(testbed, ['cancel', runId, '--reason', 'too slow', '--json']);
  expect(lines(cancelled.stdout)).toMatchObject([{ runId, outcome: 'requested', reason: 'too slow' }]);
  const result = await cli(testbed, ['result', runId]);
  expect(result).toMatchObject({ exitCode: 4 });
  expect(result.stderr).toContain('cancelled: too slow');
  expect((await cli(testbed, ['cancel', runId])).stdout).toContain('had ended already');
});

test('list finds runs by agent and status, as a table and as JSON Lines', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('one'), say('two')]) } });
  const first = await testbed.client.run('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  const second = await testbed.client.run('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  const query = ['list', '--agent', 'assistant', '--status', 'completed', '--query', `TaskQueue = '${testbed.taskQueue}'`];
  let found: unknown[] = [];
  await until(async () => {
    found = lines((await cli(testbed, [...query, '--json'])).stdout);
    return found.length === 2;
  }, 'both runs in the list');
  const entry = {
    kind: 'agent',
    agentName: 'assistant',
    status: 'completed',
    waitingFor: [],
    startTime: expect.any(String) as string,
    endTime: expect.any(String) as string,
    durationMs: expect.any(Number) as number,
  };
  expect(found).toEqual([
    { ...entry, runId: second.runId },
    { ...entry, runId: first.runId },
  ]);
  const table = (await cli(testbed, [...query, '--limit', '1'])).stdout.split('\n');
  expect(table[0]).toMatch(/^RUN +AGENT +STATUS +STARTED +DURATION$/);
  expect(table[1]).toContain(second.runId);
  expect(table).toHaveLength(3);
  expect((await cli(testbed, [...query, '--status', 'paused'])).stderr).toBe('No runs.\n');
  const [newest] = found as [{ startTime: string }];
  expect(lines((await cli(testbed, [...query, '--since', '1d', '--json'])).stdout)).toHaveLength(2);
  expect(lines((await cli(testbed, [...query, '--since', newest.startTime, '--json'])).stdout)).toMatchObject([{ runId: second.runId }]);
  expect((await cli(testbed, [...query, '--since', '2126-01-01'])).stderr).toBe('No runs.\n');
  expect(await cli(testbed, ['list', '--query', 'nonsense = ('])).toMatchObject({ exitCode: 2 });
});

test('if no worker polls, start --wait says so, and Ctrl-C or a time limit leave the run alone', async () => {
  await using testbed = await Testbed.open();
  const controller = new AbortController();
  const runId = `cli-${randomUUID()}`;
  const waiting = cli(testbed, ['start', 'assistant', 'Q', '--run-id', runId, '--wait-timeout', '5'], { signal: controller.signal });
  const { exitCode, stderr } = await waiting;
  expect(exitCode).toBe(8);
  expect(stderr).toContain(`No worker has taken run "${runId}" yet: is one polling task queue "${testbed.taskQueue}"`);

  const again = cli(testbed, ['result', runId], { signal: controller.signal });
  setTimeout(() => controller.abort(new Interruption('SIGINT')), 300);
  expect(await again).toMatchObject({
    exitCode: 130,
    stdout: '',
    stderr: `The run continues. Wait for it again: npx longhaul result ${runId} --address ${testbed.address}\n`,
  });
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('at last')]) } });
  expect(await cli(testbed, ['result', runId])).toMatchObject({ exitCode: 0, stdout: 'at last\n' });
});

test('a run that does not exist gives exit code 6, and so does a namespace', async () => {
  await using testbed = await Testbed.open();
  for (const command of ['show', 'events', 'result', 'cancel']) {
    const { exitCode, stdout, stderr } = await cli(testbed, [command, 'no-such-run']);
    expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 6, stdout: '' });
    expect(stderr).toBe('longhaul: Namespace "default" has no run "no-such-run": "npx longhaul list" shows those it has\n');
  }
  for (const command of [['start', 'assistant', 'Q'], ['show', 'r'], ['list']]) {
    const { exitCode, stderr } = await cli(testbed, [...command, '--namespace', 'no-such-namespace']);
    expect({ command, exitCode }).toEqual({ command, exitCode: 6 });
    expect(stderr).toContain('no-such-namespace');
    expect(stderr.trim().split('\n')).toHaveLength(1);
  }
});

test('a terminated run shows its record and that an operator terminated it', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([SCRIPT[0] ?? say(''), hang()]) } });
  const handle = await testbed.client.start('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await handle.status()).currentStep === 1, 'the first step');
  await testbed.client.temporal.workflow.getHandle(handle.runId).terminate('out of budget');
  expect(await cli(testbed, ['result', handle.runId])).toMatchObject({ exitCode: 3 });
  const [view] = lines((await cli(testbed, ['show', handle.runId, '--json'])).stdout);
  expect(view).toMatchObject({ status: 'error', errorCode: 'run_terminated', stepsUsed: 1, endTime: expect.any(String) as string });
  expect(view).toHaveProperty('error', expect.stringContaining('out of budget'));
});

/** Starts a run with the real Temporal CLI. Returns its id. */
async function startWithTemporal(testbed: Testbed, input: string | undefined): Promise<string> {
  const runId = `temporal-cli-${randomUUID()}`;
  const args = ['workflow', 'start', '--type', 'agentRun', '--task-queue', testbed.taskQueue, '--workflow-id', runId];
  const where = ['--address', testbed.address, '--namespace', inject('temporalNamespace')];
  const cliPath = inject('temporalCliPath') ?? 'temporal';
  await promisify(execFile)(cliPath, [...args, ...where, ...(input === undefined ? [] : ['--input', input])], { timeout: 20_000 });
  return runId;
}

test('a run that the Temporal CLI starts gives the same result as a run that the client starts', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([...SCRIPT, ...SCRIPT]) } });
  const ours = await testbed.client.run('assistant', { input: 'How long?', limits: { steps: 4 }, taskQueue: testbed.taskQueue });
  const runId = await startWithTemporal(testbed, '{"agent": "assistant", "input": "How long?", "limits": {"steps": 4}}');
  const theirs = await testbed.client.handle(runId).result();
  const times = { runId: '', startTime: null, endTime: null, durationSeconds: null };
  expect({ ...theirs.toJSON(), ...times }).toEqual({ ...ours.toJSON(), ...times });
});

test.each([
  ['3', 'expected'],
  [undefined, 'expected an object such as'],
  ['{"input": "Q"}', 'agent'],
  ['{"agent": "assistant", "input": 7}', 'input'],
  ['{"agent": "assistant", "input": "Q", "limits": {"steps": 0}}', 'limits.steps'],
])('input %s ends as a failed run that names the expected value', async (input, expectation) => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  const runId = await startWithTemporal(testbed, input);
  const { exitCode, stderr } = await cli(testbed, ['result', runId, '--wait-timeout', '20']);
  expect(exitCode).toBe(3);
  expect(stderr).toContain('error (invalid_input): The input of the run is not valid');
  expect(stderr).toContain(expectation);
});
