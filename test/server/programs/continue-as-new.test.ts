import { expect, test } from 'vitest';
import { ask, defineProgram, forEach, human, repeat, unit } from '../../../src/define/program/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const long = defineProgram({
  name: 'long',
  model: 'scripted/model',
  input: { type: 'object', properties: { items: { type: 'array', items: { type: 'string' } } }, required: ['items'] },
  units: [
    unit('first', {}, [
      forEach('Each', '{{input.items}}', { as: 'text', atOnce: 3 }, [ask('One', 'one {{text}}'), ask('Two', 'two {{One}} {{text}}')]),
      repeat('Again', { until: { of: 'Try', is: { const: 'never' } }, atMost: 4 }, [ask('Try', 'try')]),
    ]),
    unit('second', {}, [human('Who', 'Who?'), ask('Last', '{{first.Each}} {{Who}}')]),
  ],
});

const ITEMS = Array.from({ length: 12 }, (_, index) => `item ${index}`);

test.each([
  ['in one execution', undefined],
  ['that continues as new many times', { events: 40 }],
])(
  'a program %s gives the same result and events',
  async (_, continueAsNew) => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel([say('answer')], { repeatLast: true });
    await testbed.work({
      agents: [],
      programs: [long],
      providers: { scripted },
      ...(continueAsNew === undefined ? {} : { continueAsNew }),
    });
    const handle = await testbed.client.startProgram(long, { input: { items: ITEMS }, taskQueue: testbed.taskQueue });
    await until(async () => (await handle.approvals()).pending.length > 0, 'the question', 40);
    const [waiting] = (await handle.approvals()).pending;
    if (waiting !== undefined) await handle.respond(waiting, 'Ann');
    const result = await handle.result();
    expect(result).toMatchObject({ status: 'completed', error: null });
    expect(result.stepsUsed).toBe(2 * ITEMS.length + 4 + 1);
    expect(
      result.units.map(({ status, steps }) => [status, steps.map(({ name, status: ofStep, output }) => [name, ofStep, output])]),
    ).toEqual([
      [
        'completed',
        [
          ['Each', 'completed', ITEMS.map(() => 'answer')],
          ['Again', 'completed', 'answer'],
          ['Try[3]', 'completed', 'answer'],
        ],
      ],
      [
        'completed',
        [
          ['Who', 'completed', 'Ann'],
          ['Last', 'completed', 'answer'],
        ],
      ],
    ]);
    const prompts = scripted.requests.map(({ conversation }) => JSON.stringify(conversation[0]?.content));
    expect(prompts.filter((prompt) => prompt.includes('two answer item')).length).toBe(ITEMS.length);
    expect(prompts.at(-1)).toContain(JSON.stringify(JSON.stringify(ITEMS.map(() => 'answer'))).slice(1, -1));
    const events = [];
    for await (const { step } of handle.events()) if (step !== undefined) events.push(`${step.at} ${step.type} ${step.status ?? ''}`);
    const trace = await handle.trace();
    expect(trace.spans.map(({ name, metadata }) => [name, metadata['status']])).toEqual([
      ['unit:first', 'completed'],
      ['unit:second', 'completed'],
    ]);
    await testbed.stopWorkers();
    const readBack = [];
    for await (const { step } of handle.events()) if (step !== undefined) readBack.push(`${step.at} ${step.type} ${step.status ?? ''}`);
    expect(readBack).toEqual(events);
    expect((await handle.trace()).totalEvents).toBe(trace.totalEvents);
    expect(events.filter((line) => line.endsWith('completed')).length).toBe(2 + 1 + 2 * ITEMS.length + 1 + 4 + 2);
  },
  90_000,
);
