import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunHandle, SavedContext } from '../../../src/client/index.ts';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { callCli, type CliOutcome } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const SCRIPT = [together(say('I look.'), callTool('search', { query: 'a' }, 'c1')), say('17,000 hours')];

async function ended(testbed: Testbed, options: { principal?: { user: string } } = {}): Promise<RunHandle> {
  const run = await testbed.client.start('assistant', {
    input: 'How long?',
    deps: { user: 'ada' },
    taskQueue: testbed.taskQueue,
    ...options,
  });
  await run.result();
  return run;
}

/** The messages that a request of the model had, in few words. */
function said({ conversation }: { conversation: readonly { content: readonly { type: string }[] }[] }): string[] {
  return conversation.flatMap(({ content }) => content.map((item) => JSON.stringify(item)));
}

test('a run is saved while it is in progress and after it has ended, without a worker, and another run continues from the document', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...SCRIPT, say('Yes.'), hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const first = await ended(testbed);
  const saved = await first.save();
  expect(saved).toMatchObject({
    version: 1,
    agent_name: 'assistant',
    deps: { user: 'ada' },
    needs_response: false,
    iteration: 2,
    usage: { requests: 2, tool_calls: 1 },
    messages: [
      { role: 'user', content: 'How long?', created_at: expect.stringMatching(/^20/) as string },
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'c1', name: 'search', arguments: { query: 'a' } }] },
      { role: 'tool', tool_call_id: 'c1', name: 'search', content: 'found: a' },
      { role: 'assistant', content: '17,000 hours' },
    ],
  });

  const second = await testbed.client.start('assistant', { saved, input: 'Are you sure?', taskQueue: testbed.taskQueue });
  expect(await second.result()).toMatchObject({ output: 'Yes.', usage: { llmCalls: 1 } });
  expect(said(scripted.requests[2] ?? { conversation: [] })).toHaveLength(6);
  expect((await second.save()).deps).toEqual({ user: 'ada' });

  const live = await testbed.client.start('assistant', { input: 'Hang', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 4, 'the model call');
  expect(await live.save()).toMatchObject({ messages: [{ role: 'user', content: 'Hang' }], needs_response: true });
  await live.cancel('enough');
  await live.result();
  await testbed.stopWorkers();
  expect(await first.save()).toEqual(saved);
});

test('a call without a result in a document is answered as interrupted, and the model sees it before the new input', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('Again, then.')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const saved = {
    version: 1,
    messages: [
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', name: 'search', arguments: {} }] },
    ],
  } as unknown as SavedContext;
  await testbed.client.run('assistant', { saved, input: 'Well?', taskQueue: testbed.taskQueue });
  const items = said(scripted.requests[0] ?? { conversation: [] });
  expect(items.map((item) => item.includes(INTERRUPTED_CALL))).toEqual([false, false, true, false]);
});

test('a session is loaded from the saved context of another one: the model sees the earlier turns, and the session counts its own', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...SCRIPT, say('Yes, I am.')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const { taskQueue } = testbed;
  const first = testbed.client.session(assistant, { id: `talk-${randomUUID()}`, deps: { user: 'ada' }, taskQueue });
  await first.ask('How long?');
  const saved = await first.save();
  await first.close();
  const id = `talk-${randomUUID()}`;
  const second = await testbed.client.loadSession(assistant, saved, { id, taskQueue });
  expect(await second.ask('Are you sure?')).toMatchObject({ turn: 1, output: 'Yes, I am.', usage: { llmCalls: 1 } });
  const request = said(scripted.requests[2] ?? { conversation: [] });
  for (const text of ['How long?', '17,000 hours', 'Are you sure?']) expect(request.filter((item) => item.includes(text))).toHaveLength(1);
  expect((await second.run.context()).deps).toEqual({ user: 'ada' });
  await expect(testbed.client.loadSession(assistant, saved, { id, taskQueue })).rejects.toMatchObject({ code: 'run_exists' });
  const unreadable = { ...saved, version: 7 } as unknown as SavedContext;
  await expect(testbed.client.loadSession(assistant, unreadable, { id: 'other', taskQueue })).rejects.toThrow('unsupported version: 7');
});

test('a run begins with the conversation of a run that has ended, of the same principal', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...SCRIPT, say('Yes.'), hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const { runId: previousRunId } = await ended(testbed, { principal: { user: 'ada' } });
  const options = { previousRunId, input: 'Are you sure?', taskQueue: testbed.taskQueue };
  for (const principal of [undefined, { user: 'bob' }, { user: 'ada', tenant: 'acme' }]) {
    await expect(testbed.client.start('assistant', { ...options, ...(principal && { principal }) })).rejects.toMatchObject({
      code: 'run_not_found',
      message: expect.stringContaining(`has no run "${previousRunId}"`) as string,
    });
  }
  const result = await testbed.client.run('assistant', { ...options, principal: { user: 'ada' } });
  expect(result).toMatchObject({ output: 'Yes.', usage: { llmCalls: 1 } });
  expect(said(scripted.requests[2] ?? { conversation: [] })).toHaveLength(6);

  const live = await testbed.client.start('assistant', { input: 'Hang', taskQueue: testbed.taskQueue });
  await expect(testbed.client.start('assistant', { ...options, previousRunId: live.runId })).rejects.toMatchObject({ code: 'run_open' });
  await live.cancel('enough');
  await live.result();
  // The cancelled run ended with a message that has no answer: no input is needed.
  await testbed.stopWorkers();
  expect((await testbed.client.start('assistant', { previousRunId: live.runId, taskQueue: testbed.taskQueue })).runId).toMatch(
    /^assistant-/,
  );
});

test('`longhaul save` writes a document, which `start --load` begins from, and `start --previous` begins from a run', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...SCRIPT, say('Yes.'), say('Still yes.'), say('Even so.')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const cli = async (args: string[], stdin = ''): Promise<CliOutcome> =>
    callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue], { stdin });
  const { runId } = await ended(testbed);
  const file = join(await mkdtemp(join(tmpdir(), 'longhaul-')), 'context.json');

  const written = await cli(['save', runId, '-o', file]);
  expect(written).toEqual({ exitCode: 0, stdout: '', stderr: `Run "${runId}": 4 messages in ${file}\n` });
  const printed = await cli(['save', runId]);
  expect(printed.stdout).toBe(await readFile(file, 'utf8'));
  expect((await cli(['save', runId, '--json'])).stdout).toBe(`${JSON.stringify(JSON.parse(printed.stdout))}\n`);

  expect((await cli(['start', 'assistant', 'Sure?', '--load', file, '--wait'])).stdout).toBe('Yes.\n');
  expect((await cli(['start', 'assistant', 'Sure?', '--load', '-', '--wait'], printed.stdout)).stdout).toBe('Still yes.\n');
  expect((await cli(['start', 'assistant', 'Sure?', '--previous', runId, '--wait'])).stdout).toBe('Even so.\n');

  await writeFile(file, JSON.stringify({ version: 7 }));
  expect(await cli(['start', 'assistant', 'Sure?', '--load', file])).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('The run cannot start: "saved" is not a saved context: unsupported version: 7') as string,
  });
});
