import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import {
  ask,
  branch,
  defineProgram,
  forEach,
  human,
  parallel,
  recall,
  remember,
  repeat,
  sleep,
  tool,
  unit,
} from '../../../src/define/program/index.ts';
import { inMemory } from '../../../src/memory/file-memory.ts';
import { say, scriptedModel, structured } from '../../../src/testing/index.ts';
import type { ProgramHandle } from '../../../src/client/run-handle.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => ({ n: n * 2 }),
});

const everything = defineProgram({
  name: 'everything',
  model: 'scripted/model',
  input: z.object({ list: z.array(z.number()) }),
  units: [
    unit('u', { anchors: ['NoHallucination'] }, [
      forEach('Doubled', '{{input.list}}', { as: 'n', atOnce: 2 }, [tool('One', double, { n: '{{n}}' })]),
      parallel('Both', [[ask('L', 'left {{Doubled}}', { output: z.object({ score: z.number() }) })], [sleep('Nap', '50ms')]]),
      branch('Way', [{ when: { of: 'L.score', is: { minimum: 5 } }, steps: [ask('High', 'high', { refine: { maxAttempts: 2 } })] }], {
        else: [ask('Low', 'low')],
      }),
      repeat('Again', { until: { of: 'Try', is: { const: 'ok' } }, atMost: 3 }, [ask('Try', 'try')]),
      remember('Keep', 'k', '{{Way}}'),
      recall('Find', 'k'),
      human('Who', 'Who signs {{Find[0].value}}?'),
    ]),
  ],
  output: { doubled: '{{u.Doubled}}', who: '{{u.Who}}', found: '{{u.Find[0].value}}', again: '{{u.Again}}' },
});

test('a program runs steps of all kinds on a server, and waits for a person', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([structured({ score: 7 }), say('I believe H'), say('H'), say('no'), say('ok')]);
  await testbed.work({ agents: [], programs: [everything], memory: inMemory(), providers: { scripted } });
  const handle = await testbed.client.startProgram(everything, { input: { list: [1, 2, 3] }, taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length > 0, 'the question');
  const [waiting] = (await handle.approvals()).pending;
  expect(waiting).toMatchObject({ kind: 'question', toolName: 'u.Who', arguments: { question: 'Who signs H?' } });
  if (waiting !== undefined) await handle.respond(waiting, 'Ann');
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', error: null });
  expect(result.output).toEqual({ doubled: [{ n: 2 }, { n: 4 }, { n: 6 }], who: 'Ann', found: 'H', again: 'ok' });
  expect(result.units.map(({ name, status }) => [name, status])).toEqual([['u', 'completed']]);
  const live = await collect(handle);
  const trace = (await handle.trace()).toJSON();
  expect(trace).toMatchObject({ program_name: 'everything', backend_name: 'scripted', spans: [{ name: 'unit:u' }] });
  expect(trace.spans[0]?.children?.map(({ name }) => name)).toEqual(['forEach:Doubled', 'parallel:Both', 'branch:Way', 'repeat:Again']);
  await testbed.stopWorkers();
  const readBack = await collect(handle);
  expect(readBack).toEqual(live);
  expect((await handle.trace()).toJSON()).toEqual(trace);
}, 60_000);

/** Returns the events of a run, without the ids that only the workflow knew. */
async function collect(handle: Pick<ProgramHandle<unknown>, 'events'>): Promise<Omit<Event, 'id'>[]> {
  const events: Omit<Event, 'id'>[] = [];
  for await (const { id: _, ...event } of handle.events()) events.push(event);
  return JSON.parse(JSON.stringify(events).replaceAll(/[0-9a-f-]{36}\/0/g, 'digest')) as Omit<Event, 'id'>[];
}
