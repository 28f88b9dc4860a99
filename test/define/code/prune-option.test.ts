import { expect, test } from 'vitest';
import { z } from 'zod';
import type { PruneStrategy } from '../../../src/core/domain/content.ts';
import { defineAgent, defineTool, quickjs } from '../../../src/index.ts';

const orders = defineTool({ name: 'orders', description: 'd', parameters: z.object({}), execute: () => 'done' });

function desk(prune: unknown): ReturnType<typeof defineAgent> {
  const code = { executor: quickjs(), prune: prune as PruneStrategy };
  return defineAgent({ name: 'desk', model: 'p/m', tools: [orders], code, replyFormat: 'code' });
}

test('an agent has the rule that it sets', () => {
  for (const prune of [{ strategy: 'none' }, { strategy: 'last_steps', keep: 0 }, { strategy: 'old_observations', maxLength: 50 }]) {
    expect(desk(prune).code?.prune).toEqual(prune);
  }
});

test.each([
  ['all', /"code.prune" is "all": write \{strategy: "last_steps", keep: 5\}/],
  [null, /"code.prune" is null/],
  [{ strategy: 'first' }, /"code.prune" is \{"strategy":"first"\}/],
  [{ strategy: 'last_steps' }, /"code.prune.keep" is undefined: write a whole number/],
  [{ strategy: 'last_steps', keep: -1 }, /"code.prune.keep" is -1/],
  [{ strategy: 'old_observations', maxLength: 1.5 }, /"code.prune.maxLength" is 1.5/],
  [{ strategy: 'none', keep: 1 }, /"code.prune" has an unknown option "keep"/],
])('the rule %j is refused', (prune, message) => {
  expect(() => desk(prune)).toThrow(message);
});

test('an agent that does not answer with code has no such rule', () => {
  const code = { executor: quickjs(), prune: { strategy: 'none' } as const };
  expect(() => defineAgent({ name: 'desk', model: 'p/m', tools: [orders], code })).toThrow(/"code.prune" needs "replyFormat": "code"/);
});
