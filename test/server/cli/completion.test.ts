import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { portOf } from '../../../src/dev-server/start-flags.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { missingShell, type ShellName, SHELLS, ShellTerminal } from '../../cli/completion/shell-terminal.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

let testbed: Testbed;
const mark = `complete-${randomUUID().slice(0, 8)}`;

/** Runs that no worker takes: lists have them in front of those that have ended. */
const waiting = Array.from({ length: 60 }, (_, index) => `newer-${mark}-${index}`);

beforeAll(async () => {
  testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('Done.')], { repeatLast: true }) } });
  const { client, taskQueue } = testbed;
  await (await client.start(assistant, { input: 'Hello', runId: `${mark}-run`, taskQueue })).result();
  await client.session(assistant, { id: `${mark}-session`, taskQueue, title: 'Order 42' }).ask('Hello');
  await client.temporal.schedule.create({
    scheduleId: `${mark}-schedule`,
    spec: { calendars: [{ hour: 6 }] },
    action: {
      type: 'startWorkflow',
      workflowType: 'agentRun',
      workflowId: `${mark}-daily`,
      taskQueue,
      args: [{ agent: assistant.name, input: 'Good morning' }],
    },
    state: { paused: true },
  });
  await Promise.all(waiting.map((runId) => client.start(assistant, { input: 'Hello', runId, taskQueue: `${taskQueue}-without-workers` })));
});

afterAll(async () => {
  const { temporal } = testbed.client;
  await temporal.schedule.getHandle(`${mark}-schedule`).delete();
  await Promise.all(waiting.map((runId) => temporal.workflow.getHandle(runId).terminate()));
  await testbed[Symbol.asyncDispose]();
});

/** Returns the candidates for the last word, without their descriptions. */
async function candidates(...words: string[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await callCli(['completion', 'bash', '--', '--address', testbed.address, ...words]);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
}

test.each<[what: string, words: string[], found: string]>([
  ['ids of runs, of old ones too', ['show', mark], `${mark}-run`],
  ['the id of a run after an option', ['start', 'clerk', 'Hi', '--previous', mark], `${mark}-run`],
  ['the id of a run in the word of its option', ['start', 'clerk', 'Hi', `--previous=${mark}`], `--previous=${mark}-run`],
  ['ids of sessions', ['session', 'show', mark], `${mark}-session`],
  ['names of agents', ['start', assistant.name.slice(0, 3)], assistant.name],
  ['names of agents as values of an option', ['list', '--agent', assistant.name.slice(0, 3)], assistant.name],
  ['ids of schedules', ['list', '--schedule', mark], `${mark}-schedule`],
])('the server gives %s', async (_, words, found) => {
  // Lists of the server lag by a second or two, and a server that does other work does not answer in time.
  let given: string[] = [];
  await until(async () => (given = await candidates(...words)).includes(found), `"${found}" among the candidates`, 30);
  expect(given.filter((one) => !one.startsWith(words.at(-1) ?? ''))).toEqual([]);
});

for (const name of Object.keys(SHELLS) as ShellName[]) {
  const missing = missingShell(name);
  test.skipIf(missing !== undefined)(
    `${name}${missing === undefined ? '' : ` (skipped: ${missing})`} completes the id of a run`,
    async () => {
      await using shell = new ShellTerminal(name, testbed.address);
      shell.type(`${SHELLS[name].load}; echo loa''ded\n`);
      await shell.shows('loaded');
      // On a machine that does other work, no answer comes in time: a person presses the key again.
      await until(
        async () => {
          shell.type(`\u0015longhaul show ${mark}-r\t`);
          return shell.shows(`${mark}-run`, 4).then(
            () => true,
            () => false,
          );
        },
        'the id of the run at the prompt',
        40,
      );
      expect(shell.screen).not.toMatch(/error|rror:|longhaul: /i);
    },
  );
}

test('a server that accepts connections and says nothing gives no candidate and no error', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  try {
    const address = `127.0.0.1:${portOf(silent)}`;
    for (const words of [
      ['show', ''],
      ['start', ''],
      ['list', '--schedule', ''],
    ])
      expect(await callCli(['completion', 'bash', '--', '--address', address, ...words])).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: '',
      });
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});

test('the runs of a schedule are listed', async () => {
  const { client, address } = testbed;
  const listed = async (schedule: string): Promise<string> =>
    (await callCli(['list', '--schedule', schedule, '--address', address])).stdout;
  await client.temporal.schedule.getHandle(`${mark}-schedule`).trigger();
  await until(async () => (await listed(`${mark}-schedule`)).includes(`${mark}-daily-`), 'the run of the schedule in the list', 30);
  expect(await listed(`${mark}-schedule`)).not.toContain(`${mark}-run`);
  expect(await listed("o'clock")).toBe('');
});
