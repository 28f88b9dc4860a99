import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { connect, fold, memoryStreams, newView, type StreamItem, type StreamView } from '../../../../src/client/index.ts';
import { callTool, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { ask, defineProgram, parallel, unit } from '../../../../src/define/program/index.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

const greeting = defineProgram({
  name: 'greeting',
  model: 'scripted/model-1',
  units: [unit('main', {}, [ask('Greet', 'Greet'), parallel('Both', [[ask('One', 'One')], [ask('Two', 'Two')]])])],
});

/** A reader is there before the answer is recorded, also on a busy machine: of an answer that is recorded, no pieces are shown. */
const SLOW = { chunks: 4, every: 400 };

/** Events without their ids: history does not name those that the workflow has made, and a busy worker does not answer in time. */
function withoutIds(events: readonly Event[]): Omit<Event, 'id'>[] {
  return events.map(({ id: _, ...event }) => event);
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function viewOf(items: readonly StreamItem[]): StreamView {
  return items.reduce(fold, newView());
}

test('pieces of an answer come before its event, and its event takes their place', async () => {
  const streams = memoryStreams();
  await using testbed = await Testbed.open();
  const client = await connect({ address: testbed.address, streams });
  await testbed.work({
    agents: [assistant],
    streams,
    providers: {
      scripted: scriptedModel([together(say('looking', SLOW), callTool('search', { query: 'one' }, 'c1')), say('It is on its way.', SLOW)]),
    },
  });
  const run = await client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const items = await collect(run.stream());
  const texts = items.flatMap((item) => (item.type === 'delta' && item.delta.type === 'text' ? [item.delta.text] : []));
  expect(texts.join('')).toBe('lookingIt is on its way.');
  const deltas = items.filter(({ type }) => type === 'delta');
  for (const delta of deltas) {
    const replacing = items.findIndex((item) => item.type === 'event' && delta.type === 'delta' && item.event.id === delta.eventId);
    expect(replacing).toBeGreaterThan(items.indexOf(delta));
  }
  expect(items.filter(({ type }) => type === 'gap' || type === 'reset')).toEqual([]);
  expect(viewOf(items)).toMatchObject({ live: [], status: 'completed' });
  await client.close();
});

test('a program and a session stream in the same way', async () => {
  const streams = memoryStreams();
  await using testbed = await Testbed.open();
  const client = await connect({ address: testbed.address, streams });
  const answers = [say('first answer'), say('second answer'), ...['greeting', 'one', 'two'].map((text) => say(text, SLOW))];
  await testbed.work({ agents: [assistant], programs: [greeting], streams, providers: { scripted: scriptedModel(answers) } });
  const session = client.session(assistant, { id: randomUUID(), taskQueue: testbed.taskQueue });
  await session.ask('one');
  await session.ask('two');
  const talked = collect(session.stream());
  await session.close();
  const program = await client.startProgram(greeting, { taskQueue: testbed.taskQueue });
  const streamed = await collect(program.stream());
  for (const [items, run] of [[await talked, session.run] as const, [streamed, client.handle(program.runId)] as const]) {
    const view = viewOf(items);
    expect(withoutIds(view.events)).toEqual(withoutIds(await collect(run.events())));
    expect(view).toMatchObject({ live: [], result: { status: 'completed' } });
  }
  const calls = streamed.flatMap((item) => (item.type === 'delta' ? [item.callId] : []));
  expect(calls).toEqual(expect.arrayContaining(['main.One', 'main.Two']));
  await client.close();
});
