import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent, ask, defineProgram, forEach, human, parallel, sleep, tool, unit } from '../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { approve, callTool, raiseLimits, reject, say, scriptedModel, respond, testProgram, type Waiting } from '../../src/testing/index.ts';

const model = (): ReturnType<typeof scriptedModel> => scriptedModel([say('text')], { repeatLast: true });

/** A program of three parallel model calls with a limit of one. */
const three = defineProgram({
  name: 'three',
  model: 'scripted/model',
  input: z.object({ items: z.array(z.number()) }),
  limits: { steps: 1 },
  onLimit: 'ask',
  units: [unit('all', {}, [forEach('Each', '{{input.items}}', { as: 'item', atOnce: 3 }, [ask('One', 'About {{item}}')])])],
});

const input = { items: [1, 2, 3] };

describe('a program that asks at its limits', () => {
  test('requests one approval, however many steps wait, and continues with the proposed limits', async () => {
    const waits: Waiting[] = [];
    const { result } = await testProgram(three, {
      input,
      model: model(),
      decide: (waiting) => {
        waits.push(waiting);
        return approve(waits.length === 1 ? { arguments: { steps: 2 } } : {});
      },
    });
    expect(result).toMatchObject({ status: 'completed', output: ['text', 'text', 'text'], stepsUsed: 3 });
    expect(waits.map(({ kind, toolName, reason, proposal }) => ({ kind, toolName, reason, proposal }))).toEqual([
      { kind: 'limit', toolName: 'raise_limits', reason: '1 of 1 steps are used', proposal: { steps: 2 } },
      { kind: 'limit', toolName: 'raise_limits', reason: '2 of 2 steps are used', proposal: { steps: 3 } },
    ]);
  });

  test('ends at the limit after a rejection, and keeps the ended steps', async () => {
    const { result, requests } = await testProgram(three, { input, model: model(), decide: () => reject('enough') });
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit' });
    expect(requests).toHaveLength(1);
  });

  test('withdraws its request once the limit was raised', async () => {
    const { result, events } = await testProgram(three, {
      input,
      model: model(),
      meanwhile: [raiseLimits({ steps: 10 }, { step: 2, waiting: 'raise_limits' })],
    });
    expect(result).toMatchObject({ status: 'completed', stepsUsed: 3 });
    expect(events.filter(({ decision }) => decision !== undefined)).toEqual([]);
  });

  test('asks before a tool call, and at the deadline before the next step', async () => {
    const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
    const program = defineProgram({
      name: 'late',
      limits: { toolCalls: 0, deadline: '1m' },
      onLimit: 'ask',
      units: [unit('all', {}, [tool('Look', look, {}), sleep('Nap', '90s'), tool('Again', look, {})])],
    });
    const reasons: (string | undefined)[] = [];
    const { result } = await testProgram(program, {
      model: scriptedModel([]),
      decide: ({ reason }) => {
        reasons.push(reason);
        return approve();
      },
    });
    expect(result).toMatchObject({ status: 'completed', toolCallsTotal: 2 });
    expect(reasons).toEqual([
      '1 of 1 requested tool calls are over the limit of tool calls',
      'the deadline of 60 s from the start is over',
      '1 of 1 requested tool calls are over the limit of tool calls',
    ]);
  });
});

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), approval: 'always', execute: () => 'seen' });
const asking = defineAgent({ name: 'asking', model: 'scripted/model', tools: [look], limits: { steps: 1 }, onLimit: 'ask' });

/** Runs a program with an agent that asks at its limit of one step. */
async function runAbove(steps?: number): ReturnType<typeof testProgram> {
  const program = defineProgram({
    name: 'above',
    ...(steps === undefined ? {} : { limits: { steps } }),
    units: [unit('all', {}, [agent('One', asking, 'Go')])],
  });
  return testProgram(program, {
    model: scriptedModel([callTool('look', {}), ...(steps === 1 ? [] : [say('done')])]),
    decide: () => approve(),
  });
}

describe('a child at its limit', () => {
  test('asks a person if its parent shares no limit with it', async () => {
    const { result } = await runAbove();
    expect(result).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 2 });
  });

  test('asks a person if it was given more than that limit', async () => {
    const { result } = await runAbove(5);
    expect(result).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 2 });
  });

  test('ends if it was given no more, and its steps count as steps of the parent', async () => {
    const { result } = await runAbove(1);
    expect(result).toMatchObject({ status: 'error', errorCode: 'child_failed', stepsUsed: 1 });
    expect(result.error).toContain('step_limit');
  });

  test('ends at the deadline of its parent, also if it would ask a person at its own', async () => {
    const patient = defineAgent({ name: 'patient', model: 'scripted/model', tools: [look], onLimit: 'ask' });
    const program = defineProgram({
      name: 'hurried',
      limits: { deadline: '1m' },
      units: [unit('all', {}, [agent('One', patient, 'Go')])],
    });
    const { result } = await testProgram(program, { model: scriptedModel([callTool('look', {})]) });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
    expect(result.usage.llmCalls).toBe(1);
  });
});

describe('what waits for a person while no token is left', () => {
  const limits = { totalTokens: 1 };

  test('an answer that used up the tokens can be reviewed', async () => {
    const program = defineProgram({
      name: 'last',
      model: 'scripted/model',
      limits,
      units: [unit('all', {}, [ask('One', 'Go', { review: true })])],
    });
    const accepted = await testProgram(program, { model: model(), decide: () => approve() });
    expect(accepted.result).toMatchObject({ status: 'completed', output: 'text' });
    const refused = await testProgram(program, { model: model(), decide: () => reject('no') });
    expect(refused.result).toMatchObject({ status: 'error', errorCode: 'step_rejected' });
  });

  test('a rejected answer is not asked for again', async () => {
    const one = ask('One', 'Go', { review: true, refine: { maxAttempts: 2 } });
    const program = defineProgram({ name: 'again', model: 'scripted/model', limits, units: [unit('all', {}, [one])] });
    const { result, requests } = await testProgram(program, { model: model(), decide: () => reject('no') });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'token_budget' });
    expect(requests).toHaveLength(1);
  });

  test('a question that was put before is answered', async () => {
    const both = parallel('Both', [[human('Who', 'Who?')], [ask('One', 'Go')]]);
    const program = defineProgram({ name: 'asked', model: 'scripted/model', limits, units: [unit('all', {}, [both])] });
    const { result } = await testProgram(program, { model: model(), decide: () => respond('Ann') });
    expect(result).toMatchObject({ status: 'completed', output: ['Ann', 'text'] });
  });

  test('nobody has to decide about a step that could not start', async () => {
    const both = parallel('Both', [[ask('Two', 'Go', { approval: true })], [ask('One', 'Go')]]);
    const program = defineProgram({ name: 'vain', model: 'scripted/model', limits, units: [unit('all', {}, [both])] });
    const { result } = await testProgram(program, { model: model() });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'token_budget' });
  });

  test.each([
    ['that is in flight when another step reaches a limit', { steps: 1 }],
    ['that has used up the tokens of another step', limits],
  ])('a review of an answer %s ends first', async (_, most) => {
    const both = parallel('Both', [
      [ask('One', 'Go', { review: true }), ask('Later', 'Go')],
      [sleep('Nap', 150), ask('Two', 'Go')],
    ]);
    // The clock follows real time while somebody decides: the nap ends after the answer to be reviewed, and before the decision.
    const decide = async () => {
      await delay(300);
      return approve({ arguments: { output: 'edited' } });
    };
    const program = defineProgram({ name: 'reviewing', model: 'scripted/model', limits: most, units: [unit('all', {}, [both])] });
    const { result, requests } = await testProgram(program, { model: model(), decide });
    expect(result.status).toBe('steps' in most ? 'max_iterations_reached' : 'limit_reached');
    expect(result.units[0]?.steps.find(({ name }) => name === 'One')).toMatchObject({ status: 'completed', output: 'edited' });
    expect(result.units[0]?.steps.map(({ name }) => name)).not.toContain('Later');
    expect(requests).toHaveLength(1);
  });

  test('a question ends first if another step reaches a limit', async () => {
    const both = parallel('Both', [[human('Who', 'Who?')], [ask('One', 'Go'), ask('Two', 'Go')]]);
    const program = defineProgram({ name: 'asking', model: 'scripted/model', limits, units: [unit('all', {}, [both])] });
    const { result } = await testProgram(program, { model: model(), decide: () => respond('Ann') });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'token_budget' });
    expect(result.units[0]?.steps.find(({ name }) => name === 'Who')).toMatchObject({ status: 'completed', output: 'Ann' });
  });

  test('the deadline of the run ends a review, also if another step has reached a limit', async () => {
    const both = parallel('Both', [[ask('One', 'Go', { review: true })], [sleep('Nap', 1), ask('Two', 'Go')]]);
    const program = defineProgram({
      name: 'late',
      model: 'scripted/model',
      limits: { ...limits, deadline: '1m' },
      units: [unit('all', {}, [both])],
    });
    const { result } = await testProgram(program, { model: model() });
    expect(result.status).toBe('limit_reached');
  });

  test('the deadline of the run ends a review', async () => {
    const program = defineProgram({
      name: 'late',
      model: 'scripted/model',
      limits: { ...limits, deadline: '1m' },
      units: [unit('all', {}, [ask('One', 'Go', { review: true })])],
    });
    const { result } = await testProgram(program, { model: model() });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
  });
});
