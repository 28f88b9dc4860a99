import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import type { Said } from './families.ts';
import { FakeServer, type Reply } from './fake-server.ts';
import { type Package, PACKAGES } from './packages.ts';

/** Packages whose providers check returned items. The server has the rules of their APIs, and refuses a request that breaks one. */
const LISTED = PACKAGES.filter(({ name, spec }) => spec === 'v4' && name !== 'mistral');
const PAIRS = LISTED.flatMap((first) => LISTED.filter((one) => one !== first).map((second): [Package, Package] => [first, second]));

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

const lookUp = defineTool({
  name: 'look_up',
  description: 'Finds',
  parameters: z.object({ q: z.string() }),
  execute: ({ q }) => `found ${q}`,
});

const calls = ({ family }: Package, index: number): Reply => {
  const thought: Said[] = family.thinks ? [{ thinking: `thought ${index}` }] : [];
  return { parts: [...thought, { call: 'look_up', id: family.id(index), input: JSON.stringify({ q: String(index) }) }] };
};
const fails = ({ family }: Package): Reply => family.failure(503, 'It is down');
const DONE: Reply = { parts: [{ text: 'Done.' }] };

interface Course {
  what: string;
  returnAt: 'turn' | 'call';
  replies: (first: Package, second: Package) => Reply[];
  /** Who answers the steps: the first or the second of the list. */
  answers: ('first' | 'second')[];
}

const COURSES: Course[] = [
  {
    what: 'keeps to the second until the turn ends',
    returnAt: 'turn',
    replies: (first, second) => [calls(first, 1), fails(first), calls(second, 2), DONE],
    answers: ['first', 'second', 'second'],
  },
  {
    what: 'returns to the first with the next call',
    returnAt: 'call',
    replies: (first, second) => [calls(first, 1), fails(first), calls(second, 2), DONE],
    answers: ['first', 'second', 'first'],
  },
  {
    what: 'returns to the first because the second fails as well',
    returnAt: 'turn',
    replies: (first, second) => [calls(first, 1), fails(first), calls(second, 2), fails(second), calls(first, 3), DONE],
    answers: ['first', 'second', 'first', 'first'],
  },
];

describe.each(PAIRS)('a turn of $0.name and $1.name', (first, second) => {
  test.each(COURSES)('that $what breaks no rule of either', async ({ returnAt, replies, answers }) => {
    const models = { first: `first/${first.modelId}`, second: `second/${second.modelId}` } as const;
    const agent = defineAgent({
      name: 'clerk',
      model: [models.first, models.second],
      fallback: { coolDown: 0, returnAt },
      tools: [lookUp],
      settings: { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } },
    });
    server.script(...replies(first, second));
    const model = {
      [models.first]: aiSdk((id) => first.model(url, id)),
      [models.second]: aiSdk((id) => second.model(url, id)),
    };
    const { result, steps } = await testAgent(agent, { input: 'Q', model });
    expect(server.refused).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(steps.map(({ answeredBy = models.first }) => answeredBy)).toEqual(answers.map((one) => models[one]));
  });
});
