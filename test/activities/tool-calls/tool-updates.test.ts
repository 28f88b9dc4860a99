import { expect, test } from 'vitest';
import { z } from 'zod';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { contextUpdate, defineAgent, defineTool, withUpdate } from '../../../src/index.ts';
import type { RunToolInput, RunToolOutput } from '../../../src/core/protocol.ts';
import { activityEnvironment } from '../activity-environment.ts';

/** Returns the outcome of a call that returns this value. */
async function returning(returned: unknown, updates?: boolean | string[]): Promise<RunToolOutput> {
  const act = defineTool({
    name: 'act',
    description: 'Acts',
    parameters: z.object({}),
    ...(updates === undefined ? {} : { updates }),
    execute: (_, { setState }) => {
      if (returned === 'state') setState('b', 1);
      return returned;
    },
  });
  const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [act] })];
  const environment = activityEnvironment({ agents, info: { activityType: 'act' } });
  const input: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0], eventId: 'e1', arguments: {}, timeoutMs: 60_000 };
  return environment.run(runToolActivity(environment.runtime), input);
}

const REFUSED = "The update of the deps by tool 'act' was refused, and changed nothing: ";

test('an update is part of the result', async () => {
  const output = await returning(withUpdate('done', contextUpdate().set('a', 1)));
  expect(output).toMatchObject({ content: ['done'], contextUpdate: [{ op: 'set', key: 'a', value: 1 }] });
});

const both = withUpdate('done', contextUpdate().append('a', 1).set('b', 1));
test.each<[string, unknown, boolean | string[], string]>([
  ['deps', both, ['a'], 'it changes "b", and the option "updates" of the tool names "a"'],
  ['deps', both, false, 'it changes "a", and the option "updates" of the tool names nothing'],
  ['the state', 'state', ['a', 'c'], 'it changes "b", and the option "updates" of the tool names "a", "c"'],
])('an update of a key of %s that the tool does not name is refused', async (_, returned, updates, problem) => {
  const output = await returning(returned, updates);
  expect(output).toMatchObject({
    isError: true,
    content: [`The update by tool 'act' was refused, and changed nothing: ${problem}`],
  });
  expect(output).not.toHaveProperty('contextUpdate');
  expect(output).not.toHaveProperty('state');
});

test.each<[string, unknown, boolean | string[]]>([
  ['deps', both, ['a', 'b']],
  ['deps', both, true],
  ['the state', 'state', ['b']],
])('an update of keys of %s that the tool names is part of the result', async (_, returned, updates) => {
  expect(await returning(returned, updates)).not.toHaveProperty('isError');
});

test('an update whose operations exceed the budget of deps is refused, even if little remains: operations are recorded', async () => {
  const large = 'x'.repeat(80_000);
  const output = await returning(withUpdate('done', contextUpdate().set('a', large).set('a', large).delete('a')));
  expect(output).toMatchObject({ isError: true, content: [expect.stringContaining(`${REFUSED}its operations are 160`)] });
  expect(output).not.toHaveProperty('contextUpdate');
});

test('an update that nests the deps deeper than 64 levels is refused: by itself, or in the list that it is appended to', async () => {
  const lists = (levels: number): never => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as never;
  const kept = await returning(withUpdate('done', contextUpdate().append('list', lists(62))));
  expect(kept).toMatchObject({ content: ['done'] });
  const appended = await returning(withUpdate('done', contextUpdate().append('list', lists(63))));
  expect(appended).toMatchObject({ isError: true, content: [expect.stringContaining('nested deeper than 64 levels')] });
  const set = await returning(withUpdate('done', contextUpdate().set('list', lists(10_000))));
  expect(set).toMatchObject({ isError: true, content: [expect.stringContaining('nested deeper than 64 levels')] });
});

test.each([
  [{ operations: [{ op: 'increment', key: 'a', value: 1 }] }, 'there is no operation "increment": write set, merge, append or delete'],
  [{ operations: [null] }, 'there is no operation null: write set, merge, append or delete'],
  [{ operations: 'set' }, 'it has no list of operations: write contextUpdate().set(key, value)'],
  [undefined, 'it has no list of operations: write contextUpdate().set(key, value)'],
])('an invalid update (%j) is refused, and the call is not tried again', async (update, problem) => {
  expect(await returning(withUpdate('done', update as never))).toMatchObject({ isError: true, content: [`${REFUSED}${problem}`] });
});
