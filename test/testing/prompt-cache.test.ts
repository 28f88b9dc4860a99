import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SentRequests } from '../../activities/model-calls/sent-requests.ts';
import type { ModelClient, ModelRequest, PromptCache } from '../../src/core/domain/model.ts';
import type { UsageStats } from '../../src/core/domain/usage.ts';
import { defineAgent, defineHook, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { call, called, runFake, said } from '../core/loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../core/loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from '../core/sessions/fake-session.ts';

const usage = (promptTokens: number, cachedTokens: number, cacheWriteTokens = promptTokens - cachedTokens): UsageStats => ({
  promptTokens,
  completionTokens: 10,
  totalTokens: promptTokens + 10,
  cachedTokens,
  cacheWriteTokens,
});

/** A model whose provider reports this usage, one for each call, and that looks something up until the last one. */
function cachingModel(usages: readonly UsageStats[]): ModelClient & { caches: (PromptCache | undefined)[]; requests: ModelRequest[] } {
  const caches: (PromptCache | undefined)[] = [];
  const requests: ModelRequest[] = [];
  return {
    caches,
    requests,
    capabilities: { structuredOutput: false },
    call: (request, { cache }) => {
      caches.push(cache);
      requests.push(request);
      const isLast = caches.length === usages.length;
      const toolCalls = isLast ? [] : [{ id: `c${caches.length}`, name: 'look_up', arguments: {} }];
      const finishReason = isLast ? 'stop' : 'tool_calls';
      return Promise.resolve({ content: isLast ? 'Done.' : '', toolCalls, usage: usages[caches.length - 1] ?? null, finishReason });
    },
  };
}

const lookUp = defineTool({ name: 'look_up', description: 'Finds', parameters: z.object({}), execute: () => 'found' });

/** A hook that adds another instruction in each step. */
const clock = defineHook({ name: 'clock', on: 'pre_request', run: ({ step }) => ({ inject: `It is ${step} o'clock.` }) });

async function noticesOf(usages: readonly UsageStats[], hooks: (typeof clock)[] = []): Promise<string[]> {
  const agent = defineAgent({ name: 'clerk', model: 'p/m', instructions: ['One.', 'Two.'], tools: [lookUp], hooks });
  const { result, events } = await testAgent(agent, { input: 'Look.', model: cachingModel(usages) });
  expect(result.status).toBe('completed');
  return events.flatMap(({ notices = [] }) => notices.map(({ code, message }) => `${code}: ${message}`));
}

const GROWING = [usage(5_000, 0), usage(6_000, 5_000), usage(7_000, 6_000)];
const LOST = [usage(5_000, 0), usage(6_000, 0), usage(7_000, 0), usage(8_000, 0)];

describe('a cache that is lost', () => {
  test('is reported once, with the first part of the request that has changed', async () => {
    expect(await noticesOf(LOST, [clock])).toEqual([
      'cache_lost: The model has read 0 of the 5000 tokens that the previous call had left in the cache. The first changed part of the request is instruction 3: move changing parts to the end of the conversation.',
    ]);
  });

  test('by nothing in the request is the doing of the provider', async () => {
    expect(await noticesOf(LOST)).toEqual([expect.stringContaining('No part of the request has changed')]);
  });

  test.each<[why: string, usages: UsageStats[]]>([
    ['nothing is lost', GROWING],
    ['half of it is read', [usage(5_000, 0), usage(6_000, 2_500)]],
    ['the prompt is short', [usage(4_000, 0), usage(4_095, 0)]],
    ['the provider reports no cache', [usage(5_000, 0, 0), usage(6_000, 0, 0)]],
  ])('is not reported if %s', async (_, usages) => {
    expect(await noticesOf(usages)).toEqual([]);
  });

  const look = testSnapshot({ tools: [testTool('look')] });
  const lost = { usage: usage(6_000, 0), changedPart: 'instruction 2' };
  const step = (id: string, more: object) => {
    const outcome = called(call(id, 'look', {}));
    return outcome.type === 'response' ? { ...outcome, response: { ...outcome.response, ...more } } : outcome;
  };

  test('is reported without its cause if another worker made the call before, and once over all executions', async () => {
    const { events } = await runFake({
      snapshot: look,
      model: [
        step('a', { usage: usage(5_000, 0) }),
        step('b', { usage: usage(6_000, 0) }),
        step('c', { usage: usage(7_000, 0) }),
        said('Done.', lost),
      ],
      continueDue: ({ modelCalls, positions }) => modelCalls.length === 2 && positions.length === 0,
    });
    const told = events.flatMap(({ notices = [] }) => notices.map(({ message }) => message));
    expect(told).toEqual([expect.stringContaining('Another worker made the previous call')]);
    expect(JSON.stringify(events)).not.toContain('changedPart');
  });

  test('is not reported if another model of the list has answered', async () => {
    const { events } = await runFake({
      snapshot: look,
      model: [step('a', { usage: usage(5_000, 0) }), said('Done.', { ...lost, answeredBy: 'other/model' })],
    });
    expect(events.flatMap(({ notices = [] }) => notices)).toEqual([]);
  });
});

test('a provider gets a digest that is the same in all calls of a run, and in no other run', async () => {
  const agent = defineAgent({ name: 'clerk', model: 'p/m', tools: [lookUp] });
  const [one, other] = [cachingModel(GROWING), cachingModel(GROWING)];
  const { result } = await testAgent(agent, { input: 'Look.', model: one });
  await testAgent(agent, { input: 'Look.', model: other });
  const keys = [...one.caches, ...other.caches].map((cache) => cache?.key ?? '');
  expect(new Set(keys).size).toBe(2);
  expect(keys.every((key) => /^[\w-]{32}$/.test(key))).toBe(true);
  expect(keys.join()).not.toContain(result.runId);
});

test('a session that has rested for longer than a cache is kept says so from then on', async () => {
  const MINUTE = 60_000;
  const rested: boolean[] = [];
  const answer =
    (prompt: number, cached: number) =>
    ({ state }: FakeSession) => {
      rested.push(JSON.stringify(state.slices).includes('hasRested'));
      return said('A', { usage: usage(prompt, cached) });
    };
  let ids = 0;
  const asks =
    (minutes: number): SessionCaller =>
    (session) => {
      session.now += minutes * MINUTE;
      session.update('send', { id: `m${++ids}`, content: 'Q' });
    };
  const { events } = await runFakeSession({
    model: [answer(5_000, 0), answer(6_000, 5_000), answer(7_000, 0), answer(8_000, 7_000)],
    callers: [asks(0), asks(4), asks(6), asks(1)],
    continues: true,
  });
  expect(rested).toEqual([false, false, true, true]);
  // The provider was not expected to keep it for so long.
  expect(events.flatMap(({ notices = [] }) => notices)).toEqual([]);
});

describe('the first part of a request that has changed', () => {
  const tool = (name: string, description = 'd') => ({ name, description, parameters: {}, strict: false });
  const user = (content: string): ModelRequest['conversation'][number] => ({
    author: 'user',
    content: [{ type: 'message', role: 'user', content }],
  });
  const request = (changes: Partial<ModelRequest>): ModelRequest => ({
    model: 'm',
    instructions: ['One.', 'Two.'],
    conversation: [user('a'), user('b')],
    tools: [tool('x'), tool('y')],
    settings: {},
    ...changes,
  });

  test.each<[part: string | null, changes: Partial<ModelRequest>]>([
    [null, {}],
    [null, { conversation: [user('a'), user('b'), user('c')] }],
    ['tool "y"', { tools: [tool('x'), tool('y', 'other')], instructions: ['Other.'] }],
    ['tool "x"', { tools: [tool('y')] }],
    ['tool "z"', { tools: [tool('x'), tool('z'), tool('y')] }],
    ['instruction 1', { instructions: ['Other.', 'Two.'] }],
    ['instruction 2', { instructions: ['One.'] }],
    ['instruction 3', { instructions: ['One.', 'Two.', 'Three.'] }],
    ['"settings"', { settings: { toolChoice: 'required' } }],
    ['event 2 of the conversation', { conversation: [user('a'), user('other'), user('c')] }],
    ['event 2 of the conversation', { conversation: [user('a')] }],
  ])('is %j for %j', (changedPart, changes) => {
    const sent = new SentRequests();
    expect(sent.answered('k', request({}), usage(5_000, 0))).toEqual({});
    expect(sent.answered('other', request(changes), usage(6_000, 0))).toEqual({});
    expect(sent.answered('k', request(changes), usage(6_000, 0))).toEqual({ changedPart });
  });
});
