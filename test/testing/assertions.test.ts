import { beforeAll, describe, expect, test } from 'vitest';
import {
  assertRequest,
  assertSameRun,
  assertTimeline,
  callTool,
  say,
  scriptedModel,
  timelineOf,
  testAgent,
  type TestedRun,
} from '../../src/testing/index.ts';
import { agentWith, toolThat } from './scenarios/scenario.ts';

const look = toolThat('look', ({ text }) => `seen ${text ?? ''}`);
const agent = agentWith([look]);
let run: TestedRun<unknown>;

const played = (text: string): Promise<TestedRun<unknown>> =>
  testAgent(agent, { input: 'Where?', model: scriptedModel([callTool('look', { text }), say('There.')]) });

beforeAll(async () => {
  run = await played('here');
});

test('a run has a timeline', () => {
  expect(timelineOf(run)).toEqual(['user: Where?', 'agent calls look {"text":"here"}', 'look: seen here', 'agent: There.']);
});

describe('an assertion', () => {
  test('on a timeline takes lines and patterns, and shows the difference', () => {
    assertTimeline(run, ['user: Where?', /calls look/, 'look: seen here', /There/]);
    expect(() => assertTimeline(run, ['user: Where?', /calls look/, 'look: seen there', 'agent: There.', 'user: Thanks']))
      .toThrow(`The timeline is not the expected one (- expected, + actual):
  user: Where?
  agent calls look {"text":"here"}
- look: seen there
+ look: seen here
  agent: There.
- user: Thanks`);
  });

  test('on a request shows its text', () => {
    assertRequest(run, 2, 'look: seen here');
    assertRequest(run, 1, /^user: Where\?$/m);
    expect(() => assertRequest(run, 1, 'seen')).toThrow(/Request 1 does not say seen\. It says:\n.*user: Where\?/s);
    expect(() => assertRequest(run, 3, 'seen')).toThrow('There is no request 3: the model received 2');
  });

  test('on two runs ignores ids and times, and shows the differences', async () => {
    assertSameRun(await played('here'), run);
    const other = await played('there');
    expect(() => assertSameRun(other, run)).toThrow(/- agent calls look \{"text":"here"\}\n\+ agent calls look \{"text":"there"\}/);
    const costlier = { ...run, steps: run.steps.map((step) => ({ ...step, usage: null })) };
    expect(() => assertSameRun(costlier, run)).toThrow('usage');
  });
});
