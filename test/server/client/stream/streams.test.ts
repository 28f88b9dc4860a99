import { expect, test } from 'vitest';
import { fold, newView, type RunHandle, type StreamItem, type StreamView } from '../../../../src/client/index.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const SCRIPT = [
  together(say('first'), callTool('search', { query: 'one' }, 'c1'), callTool('broken', {}, 'c2')),
  callTool('search', { query: 'two' }, 'c3'),
  callTool('search', { query: 'three' }, 'c4'),
  say('done'),
];

/** Reads a stream to its end, or up to a number of items. */
async function streamed(
  run: RunHandle<unknown>,
  { cursor, most = Infinity }: { cursor?: string | undefined; most?: number } = {},
): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of run.stream(cursor === undefined ? {} : { cursor })) {
    items.push(item);
    if (items.length === most) break;
  }
  return items;
}

function viewOf(items: readonly StreamItem[]): StreamView {
  return items.reduce(fold, newView());
}

async function expectWhole(run: RunHandle<unknown>, { events, steps, result }: StreamView): Promise<void> {
  const recorded: Event[] = [];
  for await (const event of run.events()) recorded.push(event);
  // History does not name the ids that the workflow has made, and a busy worker does not answer in time.
  const withoutId = ({ id: _, ...event }: Event): object => event;
  expect(events.map(withoutId)).toEqual(recorded.map(withoutId));
  expect(steps).toEqual(await run.steps());
  const { steps: _, ...ended } = (await run.result()).toJSON();
  expect(ended).toMatchObject(result ?? {});
}

test('a stream shows the record while the run continues, across executions, and ends with the result', async () => {
  await using testbed = await Testbed.open();
  const model = scriptedModel(SCRIPT);
  const isRead = Promise.withResolvers<undefined>();
  const scripted: ModelClient = {
    capabilities: model.capabilities,
    call: async (request, context) => isRead.promise.then(() => model.call(request, context)),
  };
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { events: 8 } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const items: StreamItem[] = [];
  for await (const item of run.stream()) {
    items.push(item);
    isRead.resolve(undefined); // the run continues once it has a reader
  }
  // A reader that comes after the question has been recorded reads it first.
  const sinceQuestion = items.filter((item) => item.type !== 'event' || item.offset > 0);
  expect(sinceQuestion.at(0)).toMatchObject({ type: 'status', status: 'running' });
  expect(items.at(-1)).toMatchObject({ type: 'end', result: { status: 'completed', output: 'done', stepsUsed: 4 } });
  await expectWhole(run, viewOf(items));
  expect((await run.status()).executions).toBeGreaterThan(1);
});

/** Returns the items without their cursors, and without the status from while the run was open, which no run has afterwards. */
function recordOf(items: readonly StreamItem[]): object[] {
  return items.filter((item) => item.type !== 'status' || item.status !== 'running').map(({ cursor: _, ...item }) => item);
}

test('each cursor of an ended run leads to the position after its item, also without a worker', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(SCRIPT) }, continueAsNew: { events: 8 } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const all = await streamed(run);
  for (const [index, { cursor }] of all.entries()) {
    const rest = await streamed(run, { cursor });
    expect([index, recordOf(rest)]).toEqual([index, recordOf(all.slice(index + 1))]);
  }
  await testbed.stopWorkers();
  const alone = await streamed(testbed.client.handle(run.runId), { cursor: all[3]?.cursor });
  expect(viewOf([...all.slice(0, 4), ...alone]).events).toHaveLength(8);
}, 60_000);

test('a cursor of another run, or none at all, is refused', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('done')]) } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const [first] = await streamed(run);
  const other = testbed.client.handle('another-run');
  await expect(streamed(other, { cursor: first?.cursor })).rejects.toMatchObject({ code: 'invalid_cursor' });
  await expect(streamed(run, { cursor: 'nonsense' })).rejects.toMatchObject({ code: 'invalid_cursor' });
  await expect(streamed(other)).rejects.toMatchObject({ code: 'run_not_found' });
});

test('a run that was reset discards what a reader has seen of it', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([...SCRIPT, say('once more')]) } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const before = await streamed(run);
  await run.retry({ fromStep: 4 });
  const after = await streamed(run, { cursor: before.at(-1)?.cursor });
  expect(after[0]).toMatchObject({ type: 'reset', offset: 0 });
  const view = viewOf([...before, ...after]);
  expect(view.result).toMatchObject({ output: 'once more' });
  await expectWhole(run, view);
});

test('the end of a run that an operator terminates is an error, and a cancelled run ends with its result', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([hang(), hang()]) } });
  const start = () => testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const [terminated, cancelled] = await Promise.all([start(), start()]);
  const reading = Promise.allSettled([streamed(terminated), streamed(cancelled)]);
  await until(async () => (await cancelled.status()).running?.length === 1, 'a call');
  await testbed.client.temporal.workflow.getHandle(terminated.runId).terminate('enough');
  await cancelled.cancel('enough');
  const [first, second] = await reading;
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'run_terminated' } });
  expect(second.status === 'fulfilled' && second.value.at(-1)).toMatchObject({ type: 'end', result: { status: 'cancelled' } });
});

test('a reader that gives up does not end the stream of another one', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([hang(), say('done')]) } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const leaving = new AbortController();
  const left = (async () => {
    for await (const _ of run.stream({ signal: leaving.signal }));
  })();
  const stays = streamed(run);
  await until(async () => (await run.status()).running?.length === 1, 'a call');
  leaving.abort(new Error('closed the page'));
  await expect(left).rejects.toThrow('closed the page');
  await run.send('go on', { mode: 'interrupt' });
  expect((await stays).at(-1)).toMatchObject({ type: 'end', result: { output: 'done' } });
});
