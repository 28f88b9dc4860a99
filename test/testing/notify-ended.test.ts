import { describe, expect, test } from 'vitest';
import type { EndedNotice } from '../../src/define/approvals.ts';
import {
  callTool,
  cancelRun,
  failWith,
  say,
  scriptedModel,
  type ScriptEntry,
  testAgent,
  type TestOptions,
} from '../../src/testing/index.ts';
import { agentWith, toolThat } from './scenarios/scenario.ts';

const agent = agentWith([toolThat('look', () => 'seen')], { limits: { steps: 2 } });
const look = callTool('look');

describe('the worker calls notifyEnded when a run has ended', () => {
  const cases: [string, Partial<TestOptions> & { script: ScriptEntry[] }, object][] = [
    ['with its answer', { script: [look, say('done')] }, { status: 'completed', output: 'done', success: true, stepsUsed: 2 }],
    ['at a limit', { script: [look, look] }, { status: 'max_iterations_reached', success: false, toolCallsTotal: 2 }],
    ['with an error', { script: [failWith('model_forbidden', 'no')] }, { status: 'error', errorCode: 'model_forbidden' }],
    [
      'because it was cancelled',
      { script: [look], meanwhile: [cancelRun('enough', { step: 1, tool: 'look' })] },
      { status: 'cancelled', cancelReason: 'enough' },
    ],
    ['before it had an agent', { script: [], limits: { costUsd: 1 } }, { status: 'error', errorCode: 'invalid_agent' }],
  ];
  test.each(cases)('%s', async (_, { script, ...options }, expected) => {
    const told: EndedNotice[] = [];
    const { result } = await testAgent(agent, {
      input: 'Go',
      ...options,
      model: scriptedModel(script),
      notifyEnded: (ended) => void told.push(ended),
    });
    expect(result).toMatchObject(expected);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ runId: result.runId, agentName: 'agent', status: result.status });
    const { steps: __, ...whole } = result.toJSON();
    expect(told[0]?.result.toJSON()).toEqual(whole);
  });
});

test('a failing notifyEnded hook is called again with the same id, after a growing delay', async () => {
  const ids: string[] = [];
  const { result } = await testAgent(agent, {
    input: 'Go',
    model: scriptedModel([say('done')]),
    notifyEnded: ({ id }) => {
      if (ids.push(id) < 4) throw new Error('the service is down');
    },
  });
  expect(result.status).toBe('completed');
  expect(ids).toHaveLength(4);
  expect(new Set(ids).size).toBe(1);
});

test('a notifyEnded hook that always fails changes nothing about the ending of the run, and is given up', async () => {
  let attempts = 0;
  const { result } = await testAgent(agent, {
    input: 'Go',
    model: scriptedModel([say('done')]),
    notifyEnded: () => {
      attempts += 1;
      throw new Error('never');
    },
  });
  expect(result).toMatchObject({ status: 'completed', output: 'done', error: null });
  expect(attempts).toBe(20);
});

test('a hook that is not a function is refused when the worker is created', async () => {
  const options = { input: 'Go', model: scriptedModel([say('done')]), notifyEnded: 'mail' as never };
  await expect(testAgent(agent, options)).rejects.toThrow('the worker: "notifyEnded" is "mail": write a function');
});
