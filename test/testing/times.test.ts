import { expect, test } from 'vitest';
import { z } from 'zod';
import { traceOf } from '../../src/core/program/trace.ts';
import { ask, defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { approve, callTool, say, scriptedModel, testAgent, testProgram } from '../../src/testing/index.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Seconds or milliseconds since 1970, of the years 2001 to 2286. */
function isEpoch(value: number): boolean {
  return (value >= 1e9 && value < 1e10) || (value >= 1e12 && value < 1e13);
}

/** Yields the path of every number at any depth that looks like a time. */
function* epochsIn(value: unknown, path = ''): Generator<string> {
  if (typeof value === 'number' && isEpoch(value)) yield `${path}: ${value}`;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) yield* epochsIn(member, `${path}/${key}`);
}

/** Returns a value as it leaves the product. */
function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: z.object({}), approval: 'always', execute: () => 'paid' });

test('no time of the JSON of a run is a number: its result, steps, events and pending approvals', async () => {
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay], approvals: { deadline: '1d' } });
  const waits: unknown[] = [];
  const run = await testAgent(agent, {
    input: 'Q',
    model: scriptedModel([callTool('pay'), say('Done.')]),
    decide: (pending) => {
      waits.push(pending);
      return approve();
    },
  });
  expect(waits).toMatchObject([{ requestedAt: expect.stringMatching(ISO) as string, deadlineAt: expect.stringMatching(ISO) as string }]);
  expect(run.events.map(({ timestamp }) => timestamp)).toEqual(run.events.map(() => expect.stringMatching(ISO) as string));
  expect([...epochsIn(json([run.result, run.steps, run.events, waits]))]).toEqual([]);
});

test('no time of the JSON of a program is a number: its result, events and trace', async () => {
  const program = defineProgram({
    name: 'desk',
    model: 'scripted/m',
    units: [unit('u', {}, [ask('Who', 'Who?'), tool('Pay', pay, {})])],
  });
  const { result, events } = await testProgram(program, { model: scriptedModel([say('Ada')]), decide: () => approve() });
  const trace = traceOf(program.document, events).toJSON();
  expect(result.status).toBe('completed');
  expect(trace).toMatchObject({ start_time: expect.stringMatching(ISO) as string, end_time: expect.stringMatching(ISO) as string });
  expect([...epochsIn(json([result, events, trace]))]).toEqual([]);
});
