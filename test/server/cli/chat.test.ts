import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Interruption } from '../../../src/cli/terminal.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { callCli, type CliCallOptions, type CliOutcome } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

async function cli(testbed: Testbed, args: readonly string[], options?: CliCallOptions): Promise<CliOutcome> {
  return callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue], options);
}

function json(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

test('chat reads messages from a pipe, prints an answer for each, and a second call continues the conversation', async () => {
  await using testbed = await Testbed.open();
  const search = together(say('I look.'), callTool('search', { query: 'a' }));
  const scripted = scriptedModel([say('one\u001b[2J'), search, say('two'), say('three')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const id = `talk-${randomUUID()}`;
  const chat = ['chat', 'assistant', '--session', id, '--title', 'A talk', '--turns', '3'];
  const first = await cli(testbed, chat, { stdin: 'hello\n\nand more?\r\n' });
  expect(first).toMatchObject({ exitCode: 0, stdout: 'one\ufffd[2J\ntwo\n' });
  expect(first.stderr).toContain(`To continue: npx longhaul chat assistant --session ${id}`);
  const second = await cli(testbed, [...chat, '--json'], { stdin: 'again' });
  expect(json(second.stdout)).toMatchObject([{ turn: 3, status: 'completed', output: 'three' }]);

  const refused = await cli(testbed, chat, { stdin: 'too much' });
  expect(refused).toMatchObject({ exitCode: 11, stdout: '' });
  expect(refused.stderr).toContain('3 of 3 turns are used');
  expect(refused.stderr).toContain(`To raise it: npx longhaul session raise ${id} --turns 6`);
  expect(json((await cli(testbed, ['session', 'show', id, '--json'])).stdout)).toMatchObject([
    { limitReached: { limit: 'turns', message: '3 of 3 turns are used' } },
  ]);
  const shown = await cli(testbed, ['session', 'show', id]);
  expect(shown.stdout).toMatch(/^Title +A talk$/m);
  expect(shown.stdout).toMatch(/^Status +idle$/m);
  expect(shown.stdout).toMatch(/^Turns +3 of at most 3, /m);
  expect(shown.stdout).toMatch(/^Limit +3 of 3 turns are used: /m);
  expect(shown.stdout).toContain(`npx longhaul session raise ${id} --turns 6`);
  expect(shown.stdout).toContain('Turn 2\n> and more?\ntwo\n');
  const raised = await cli(testbed, ['session', 'raise', id, '--turns', '6', '--tokens', 'none']);
  expect(raised).toMatchObject({ exitCode: 0, stdout: `Limits of session "${id}" are raised\n` });
  expect(raised.stderr).toContain('3 of at most 6');
  const run = await cli(testbed, ['show', id]);
  expect(run.stdout).toContain('assistant · turn 2 ended: completed');
  expect(run.stdout).toMatch(/^Turn 3 +1 of at most 10 steps, with 0 tool calls$/m);
  expect((await cli(testbed, ['events', id])).stdout).toContain('turn 3 ended: completed');
  expect((await cli(testbed, ['tree', id])).stdout).toContain('3 turns · 4 steps');

  expect((await cli(testbed, ['chat', 'clerk', '--session', id], { stdin: 'x' })).stderr).toContain(
    'is one of agent "assistant", not "clerk"',
  );
  expect(await cli(testbed, ['session', 'close', id])).toMatchObject({ exitCode: 0, stdout: `Session "${id}" is closed\n` });
  await testbed.client.handle(id).result();
  expect((await cli(testbed, chat, { stdin: 'x' })).stderr).toContain(`Session "${id}" is closed. Leave out --session`);
  expect((await cli(testbed, ['session', 'show', id])).stdout).toMatch(/^Status +completed$/m);
  expect((await cli(testbed, ['result', id])).stderr).toContain('[completed] assistant | 3 turns | 4 steps');
});

test('a turn that does not complete says so, and the next message begins another', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), say('fine')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const chat = await cli(testbed, ['chat', 'assistant', '--steps', '1'], { stdin: 'first\nsecond\n' });
  expect(chat).toMatchObject({ exitCode: 0, stdout: 'fine\n' });
  expect(chat.stderr).toContain('turn 1 ended: max_iterations_reached (step_limit)');
});

test('a piped chat says why its session has failed, and exits with the code of that error', async () => {
  await using testbed = await Testbed.open();
  const strict = defineAgent({ name: 'strict', model: 'scripted/m', deps: z.object({ customer: z.string() }) });
  await testbed.work({ agents: [strict], providers: { scripted: scriptedModel([hang('so far')]) }, heartbeatEvery: 60_000 });
  const id = `talk-${randomUUID()}`;
  const failed = await cli(testbed, ['chat', 'strict', '--session', id], { stdin: 'first\nsecond\n' });
  expect(failed).toMatchObject({ exitCode: 2, stdout: '' });
  expect(failed.stderr).toContain('The session has ended with an error (invalid_input): The deps do not fit agent "strict": deps.customer');
  expect(failed.stderr).toContain('options that fit, such as --deps: npx longhaul chat strict --task-queue');
  const again = await cli(testbed, ['chat', 'strict', '--session', id], { stdin: 'first\n' });
  expect(again).toMatchObject({ exitCode: 11, stdout: '' });
  expect(again.stderr).toContain(`Session "${id}" has ended with an error (invalid_input): The deps do not fit`);

  const other = `talk-${randomUUID()}`;
  const chatting = cli(testbed, ['chat', 'strict', '--session', other, '--deps', '{"customer": "Ada"}', '--json'], { stdin: 'first\n' });
  await until(
    async () =>
      (
        await testbed.client
          .handle(other)
          .status()
          .catch(() => undefined)
      )?.session?.turn === 1,
    'the first turn',
  );
  await testbed.client.temporal.workflow.getHandle(other).terminate('by hand');
  const ended = await chatting;
  expect(ended).toMatchObject({ exitCode: 3, stdout: '' });
  expect(ended.stderr).toContain(
    `The session has ended with an error (run_terminated): Run "${other}" was terminated by an operator (by hand)`,
  );
});

test('Ctrl-C leaves a piped chat while the turn continues; a session is deleted once its turn has ended', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang('so far'), say('still here')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, heartbeatEvery: 60_000 });
  const id = `talk-${randomUUID()}`;
  const interrupting = new AbortController();
  const chatting = cli(testbed, ['chat', 'assistant', '--session', id], { stdin: 'first\n', signal: interrupting.signal });
  await until(() => scripted.requests.length === 1, 'the model call');
  interrupting.abort(new Interruption('SIGINT'));
  const left = await chatting;
  expect(left).toMatchObject({ exitCode: 130, stdout: '' });
  expect(left.stderr).toContain(`To continue: npx longhaul chat assistant --session ${id}`);
  expect((await cli(testbed, ['session', 'show', id])).stdout).toContain('turn 1 is running');

  const open = await cli(testbed, ['session', 'delete', id]);
  expect(open).toMatchObject({ exitCode: 2, stdout: '' });
  expect(open.stderr).toContain(`Turn 1 of session "${id}" is running: delete it once it is idle, or with --end now`);
  // The refused deletion has not closed the session.
  const session = testbed.client.session(assistant, { id });
  await session.interrupt();
  await session.turn(1);
  expect(await session.ask('second')).toMatchObject({ turn: 2, output: 'still here' });
  const deleted = await cli(testbed, ['session', 'delete', id]);
  expect(deleted).toMatchObject({ exitCode: 0, stdout: `Session "${id}" is deleted\n` });
  expect(deleted.stderr).toBe("Other stores are unchanged: name your workers' stores with --payload-store, --archive\n");
});

test('sessions are listed with their titles and statuses, without other runs, until they are deleted', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('one'), say('two'), say('three')]) } });
  const { taskQueue } = testbed;
  await testbed.client.run(assistant, { input: 'Q', taskQueue });
  const [first, second] = [`talk-${randomUUID()}`, `talk-${randomUUID()}`];
  await testbed.client.session(assistant, { id: first, title: 'The first', memo: { ticket: 7 }, taskQueue }).ask('Q');
  await testbed.client.session(assistant, { id: second, taskQueue }).ask('Q');
  const list = ['sessions', '--agent', 'assistant', '--query', `TaskQueue = '${taskQueue}'`];
  let found: unknown[] = [];
  await until(async () => {
    found = json((await cli(testbed, [...list, '--json', '--status', 'idle'])).stdout);
    return found.length === 2;
  }, 'both sessions in the list');
  expect(found).toEqual([
    expect.objectContaining({ sessionId: second, agentName: 'assistant', status: 'idle' }),
    expect.objectContaining({ sessionId: first, title: 'The first', waitingFor: [], endTime: null }),
  ]);
  expect(found[0]).not.toHaveProperty('title');
  const table = await cli(testbed, list);
  expect(table.stdout).toMatch(/^SESSION +AGENT +STATUS +STARTED +TITLE$/m);
  expect((await cli(testbed, [...list, '--since', '2126-01-01'])).stderr).toBe('No sessions.\n');
  expect((await cli(testbed, ['list', '--query', `TaskQueue = '${taskQueue}'`, '--status', 'idle'])).stdout).toMatch(/idle/);

  // A folder with a wrong name is found before the session is closed.
  const wrong = await cli(testbed, ['session', 'delete', first, '--archive', './no-such-folder']);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--archive names "./no-such-folder"') as string });
  expect((await testbed.client.handle(first).status()).status).toBe('idle');
  const deleted = await cli(testbed, ['session', 'delete', first, '--json']);
  expect(json(deleted.stdout)).toEqual([{ sessionId: first, outcome: 'deleted', without: ['payloadStore', 'archive'] }]);
  // The server removes it in the background: deleting again is not an error meanwhile, nor afterwards.
  expect(await cli(testbed, ['session', 'delete', first])).toMatchObject({ exitCode: 0 });
});
