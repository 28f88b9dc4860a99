import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineGuardrail, defineHook, defineTool } from '../../src/index.ts';
import { callTool, say, scriptedModel, testAgent } from '../../src/testing/index.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import type { PointQuestion } from '../../src/core/capabilities/hooks.ts';
import { runFake, said } from '../core/loop/fakes/fake-ports.ts';
import { testSnapshot } from '../core/loop/fakes/snapshot.ts';

const acted: string[] = [];
const act = defineTool({
  name: 'act',
  description: 'Acts',
  parameters: z.object({}),
  execute: () => void acted.push('acted'),
});

describe('a hook for messages', () => {
  const noCards = defineHook({
    name: 'no-cards',
    on: 'input',
    run: ({ text, messages }) => (text.includes('4111') && messages.length === 1 ? { deny: 'no cards' } : 'allow'),
  });
  const agent = defineAgent({ name: 'a', model: 'scripted/m', tools: [act], hooks: [noCards] });

  test('that denies them ends the run before a tool starts, and takes them out of the conversation', async () => {
    acted.length = 0;
    const { result, events } = await testAgent(agent, { input: 'My card is 4111', model: scriptedModel([callTool('act', {})]) });
    expect(result).toMatchObject({
      status: 'error',
      stopReason: 'guardrail',
      output: 'Request blocked: no cards',
      errorCode: 'guardrail_tripped',
      guardrail: { name: 'no-cards', type: 'input', message: 'no cards' },
    });
    expect(acted).toEqual([]);
    expect(events.flatMap(({ guardrails }) => guardrails ?? [])).toMatchObject([{ findings: [{ name: 'no-cards', outcome: 'tripped' }] }]);
  });

  test('that lets them pass records nothing', async () => {
    acted.length = 0;
    const { result, events } = await testAgent(agent, { input: 'Hi', model: scriptedModel([callTool('act', {}), say('Done.')]) });
    expect({ status: result.status, acted, notes: events.flatMap(({ guardrails }) => guardrails ?? []) }).toEqual({
      status: 'completed',
      acted: ['acted'],
      notes: [],
    });
  });

  test('whose answer JSON would lose has failed, with the path', async () => {
    const lost = defineHook({ name: 'lost', on: 'input', failClosed: false, run: () => ({ deny: new Map() }) as never });
    const one = defineAgent({ name: 'a', model: 'scripted/m', hooks: [lost] });
    const { events } = await testAgent(one, { input: 'Hi', model: scriptedModel([say('Done.')]) });
    expect(events.flatMap(({ guardrails }) => guardrails?.findings ?? [])).toMatchObject([
      { outcome: 'failed_open', message: expect.stringContaining('its answer is not JSON: "deny" is a Map') },
    ]);
  });

  test.each([
    [true, 'error', 'failed'],
    [false, 'completed', 'failed_open'],
  ])('that throws (failClosed: %s): the run ends as %s', async (failClosed, status, outcome) => {
    const broken = defineHook({ name: 'broken', on: 'input', failClosed, run: () => Promise.reject(new Error('no answer')) });
    const one = defineAgent({ name: 'a', model: 'scripted/m', hooks: [broken] });
    const { result, events } = await testAgent(one, { input: 'Hi', model: scriptedModel([say('Done.')]) });
    expect(result.status).toBe(status);
    expect(events.flatMap(({ guardrails }) => guardrails?.findings ?? [])).toMatchObject([{ name: 'broken', outcome }]);
  });
});

describe.each(['input', 'output'] as const)('a hook for "%s" that answers as only others can', (on) => {
  test.each([
    ['modify', { modify: { text: 'other' } }, true],
    ['inject', { inject: 'Be polite.' }, true],
    ['ask', { ask: 'May it?' }, true],
    ['modify', { modify: { text: 'other' } }, false],
    ['inject', { inject: 'Be polite.' }, false],
    ['ask', { ask: 'May it?' }, false],
  ])('%s: has failed (%o, failClosed: %s)', async (type, answer, failClosed) => {
    const wrong = defineHook({ name: 'wrong', on, failClosed, run: () => answer });
    const agent = defineAgent({ name: 'a', model: 'scripted/m', hooks: [wrong] });
    const { result, events } = await testAgent(agent, { input: 'Hi', model: scriptedModel([say('Done.')]) });
    expect(result.status).toBe(failClosed ? 'error' : 'completed');
    expect(events.flatMap(({ guardrails }) => guardrails?.findings ?? [])).toEqual([
      {
        name: 'wrong',
        type: on,
        outcome: failClosed ? 'failed' : 'failed_open',
        message: `Hook "wrong" failed: it answered "${type}", which has no effect here: deny it, or let it pass`,
      },
    ]);
  });
});

test('a hook for answers denies one before anybody sees it, and is asked together with guardrails', async () => {
  const asked: unknown[] = [];
  const hook = defineHook({
    name: 'house-style',
    on: 'output',
    run: ({ text, output }) => {
      asked.push([text, output]);
      return { deny: 'not like this' };
    },
  });
  const guardrail = defineGuardrail({ name: 'any', type: 'output', check: () => ({ passed: true }) });
  const agent = defineAgent({ name: 'a', model: 'scripted/m', hooks: [hook], guardrails: [guardrail] });
  const { result } = await testAgent(agent, { input: 'Hi', model: scriptedModel([say('yo')]) });
  expect(asked).toEqual([['yo', 'yo']]);
  expect(result).toMatchObject({ stopReason: 'guardrail', output: 'Response blocked: not like this', guardrail: { name: 'house-style' } });
});

describe('the activities of a run at its points', () => {
  /** Returns the questions at the points of a run of one step. */
  async function asked(changes: Partial<AgentSnapshot>): Promise<Pick<PointQuestion, 'point' | 'names' | 'timeoutMs'>[]> {
    const questions: Pick<PointQuestion, 'point' | 'names' | 'timeoutMs'>[] = [];
    const askAtPoint = async ({ point, names, timeoutMs }: PointQuestion) => {
      questions.push({ point, names, timeoutMs });
      return { type: 'found' as const, found: {} };
    };
    const { result } = await runFake({ snapshot: testSnapshot(changes), model: [said('done')], ports: { askAtPoint } });
    expect(result.status).toBe('completed');
    return questions;
  }

  test('are none if its hooks are for other events', async () => {
    expect(await asked({ hooks: [{ name: 'calls', on: 'pre_tool_use' }] })).toEqual([]);
  });

  test('are one for each point, for guardrails and hooks together, with the time of both', async () => {
    const all = await asked({
      guardrails: [
        { name: 'topic', type: 'input', timeoutMs: 20_000 },
        { name: 'tone', type: 'output', timeoutMs: 5_000 },
      ],
      hooks: [
        { name: 'cards', on: 'input' },
        { name: 'style', on: 'output' },
        { name: 'lawyer', on: 'output', tier: 'remote', timeoutMs: 60_000 },
      ],
    });
    expect(all).toEqual([
      { point: 'input', names: ['topic', 'cards'], timeoutMs: 20_000 },
      { point: 'output', names: ['tone', 'style', 'lawyer'], timeoutMs: 70_000 },
    ]);
  });
});
