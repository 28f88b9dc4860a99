import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli, type CliOutcome } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

async function open(): Promise<Testbed & { cli: (...args: string[]) => Promise<CliOutcome>; asked: () => string[] }> {
  const testbed = await Testbed.open();
  const scripted = scriptedModel([say('Hello')], { repeatLast: true });
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const cli = (...args: string[]): Promise<CliOutcome> =>
    callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue]);
  return Object.assign(testbed, { cli, asked: () => scripted.requests.map(({ conversation }) => JSON.stringify(conversation)) });
}

test('a session is saved as a document, another one begins with it, and a session is reset', async () => {
  await using testbed = await open();
  const { cli, client, taskQueue, asked } = testbed;
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-session-'));
  const file = join(folder, 'talk.json');
  const [id, other] = [`talk-${randomUUID()}`, `talk-${randomUUID()}`];
  await client.session(assistant, { id, taskQueue }).ask('My name is Ada');
  expect(await cli('session', 'save', id, '-o', file)).toMatchObject({
    exitCode: 0,
    stdout: '',
    stderr: `Run "${id}": 2 messages in ${file}\n`,
  });

  const loaded = await cli('session', 'load', other, file, '--agent', 'assistant');
  expect(loaded).toMatchObject({ exitCode: 0, stdout: `Session "${other}" has begun\n` });
  expect(loaded.stderr).toContain(`To talk to it: npx longhaul chat assistant --session ${other}`);
  await until(async () => (await client.handle(other).status()).status === 'idle', 'the session');
  expect(await cli('session', 'show', other)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Status +idle$/m) as string });
  const again = await cli('session', 'load', other, file, '--agent', 'assistant');
  expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining(`Session "${other}" exists already`)]);
  await client.session(assistant, { id: other }).ask('Who am I?');
  expect(asked().at(-1)).toContain('My name is Ada');

  expect(await cli('session', 'reset', other)).toMatchObject({
    exitCode: 0,
    stdout: `Turn 2 of session "${other}" begins with an empty conversation\n`,
  });
  await client.session(assistant, { id: other }).ask('And now?');
  expect(asked().at(-1)).not.toContain('Ada');
  expect((await cli('session', 'save', 'no-such-session')).exitCode).toBe(6);
  await rm(folder, { recursive: true });
}, 60_000);

test('everything of a user is removed only with --yes', async () => {
  await using testbed = await open();
  const { cli, client, taskQueue } = testbed;
  const user = `ada-${randomUUID()}`;
  const { runId } = await client.as({ user }).run(assistant, { input: 'Q', taskQueue });
  const asked = await cli('forget', '--user', user);
  expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining(`everything of user "${user}" without a tenant`)]);
  const refused = await cli('forget', '--user', user, '--yes');
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--without')]);
  expect((await client.handle(runId).status()).status).toBe('completed');
  const done = await cli('forget', '--user', user, '--yes', '--without', 'archive,payload-store,memory,streams');
  expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 run with 1 execution') as string });
  await expect(client.handle(runId).status()).rejects.toMatchObject({ code: 'run_not_found' });
}, 120_000);
