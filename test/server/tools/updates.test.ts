import { expect, test } from 'vitest';
import { z } from 'zod';
import { contextUpdate, defineAgent, defineTool, type RunContext, withUpdate } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed } from '../testbed/testbed.ts';

const counted = z.object({ counters: z.record(z.string(), z.number()), notes: z.array(z.string()) });
type Context = RunContext<z.output<typeof counted>>;

function incrementing(options: { name: string; updates?: string[]; tier?: 'local' }) {
  return defineTool({
    ...options,
    description: 'Increments a named counter, which begins at 0',
    parameters: z.object({ name: z.string() }),
    execute: async ({ name }, { deps: { counters } }: Context) => {
      const value = (counters[name] ?? 0) + 1;
      return withUpdate({ counter: name, value }, contextUpdate().set('counters', { ...counters, [name]: value }));
    },
  });
}

const increment = incrementing({ name: 'increment', updates: ['counters'] });
const quickly = incrementing({ name: 'increment_quickly', updates: ['counters'], tier: 'local' });
const carelessly = incrementing({ name: 'increment_carelessly' });

const addNote = defineTool({
  name: 'add_note',
  description: 'Adds a note',
  parameters: z.object({ text: z.string() }),
  updates: ['notes'],
  execute: ({ text }, { deps: { notes } }: Context) =>
    withUpdate({ added: text, total: notes.length + 1 }, contextUpdate().append('notes', text)),
});

const showState = defineTool({
  name: 'show_state',
  description: 'Shows the counters and the notes',
  parameters: z.object({}),
  execute: (_, { deps }: Context) => deps,
});

const agent = defineAgent({
  name: 'counter',
  model: 'scripted/m',
  deps: counted,
  tools: [increment, quickly, carelessly, addNote, showState],
});

const FOUND = { counters: { vowels: 3 }, notes: ['Found vowels: e, e, a'] };

test.each(['increment', 'increment_quickly'])('each call of an answer sees what the calls before it changed: %s', async (tool) => {
  await using testbed = await Testbed.open();
  const vowel = callTool(tool, { name: 'vowels' });
  const answer = together(vowel, vowel, vowel, callTool('add_note', { text: 'Found vowels: e, e, a' }), callTool('show_state'));
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([answer, say('done')]) } });
  const deps = { counters: {}, notes: [] };
  const result = await testbed.client.run(agent, { input: 'Q', deps, taskQueue: testbed.taskQueue, steps: true });
  expect(result.steps?.[0]?.toolCalls.map((call) => JSON.parse(call.result) as unknown)).toEqual([
    { counter: 'vowels', value: 1 },
    { counter: 'vowels', value: 2 },
    { counter: 'vowels', value: 3 },
    { added: 'Found vowels: e, e, a', total: 1 },
    FOUND,
  ]);
  expect((await testbed.client.handle(result.runId).context()).deps).toEqual(FOUND);
  await expectSameFromHistory(testbed, result);
});

test('of calls that overlap and change the same key, all but one ask the model to call again', async () => {
  await using testbed = await Testbed.open();
  const vowel = callTool('increment_carelessly', { name: 'vowels' });
  const scripted = scriptedModel([together(vowel, vowel, vowel), vowel, say('done')]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const deps = { counters: {}, notes: [] };
  const result = await testbed.client.run(agent, { input: 'Q', deps, taskQueue: testbed.taskQueue, steps: true });
  const again = expect.stringMatching(/another call changed "counters" while this one was running\. Call the tool again\.$/);
  expect(result.steps?.map(({ toolCalls }) => toolCalls.map((call) => call.result))).toEqual([
    ['{"counter":"vowels","value":1}', again, again],
    ['{"counter":"vowels","value":2}'],
    [],
  ]);
  expect((await testbed.client.handle(result.runId).context()).deps).toMatchObject({ counters: { vowels: 2 } });
  await expectSameFromHistory(testbed, result);
});
