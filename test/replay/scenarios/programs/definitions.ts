import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ask, tool, unit } from '../../../../src/define/program/index.ts';
import { defineAgent, defineProgram, defineTool } from '../../../../src/index.ts';

/** A local tool. */
export const tenfold = defineTool({
  name: 'tenfold',
  description: 'Multiplies by ten',
  tier: 'local',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => n * 10,
});

/** A local tool that takes longer than the other. */
export const slowly = defineTool({
  name: 'slowly',
  description: 'Takes its time',
  tier: 'local',
  parameters: z.object({ ms: z.number() }),
  execute: async ({ ms }, { signal }) => {
    await sleep(ms, undefined, { signal });
    return ms;
  },
});

/** Refuses even numbers. */
export const odd = defineTool({
  name: 'odd',
  description: 'Refuses even numbers',
  parameters: z.object({ n: z.number() }),
  maxAttempts: 1,
  execute: ({ n }) => {
    if (n % 2 === 0) throw new Error(`${n} is even`);
    return n;
  },
});

/** Each call waits for a decision. */
export const sign = defineTool({
  name: 'sign',
  description: 'Signs a letter',
  parameters: z.object({ letter: z.string() }),
  approval: 'always',
  execute: ({ letter }) => `${letter}, signed`,
});

/** Some calls wait for a decision. */
export const send = defineTool({
  name: 'send',
  description: 'Sends a letter',
  parameters: z.object({ to: z.string() }),
  approval: ({ to }) => to !== 'Ann' && { reason: 'a stranger' },
  execute: ({ to }) => `sent to ${to}`,
});

/** An agent that answers at once. */
export const writer = defineAgent({ name: 'writer', model: 'child/m', output: z.object({ letter: z.string() }) });

/** An agent with a tool that waits for a decision. */
export const signer = defineAgent({ name: 'signer', model: 'child/m', tools: [sign, tenfold] });

/** A program that others run. */
export const sums = defineProgram({
  name: 'sums',
  model: 'child/m',
  input: z.object({ n: z.number() }),
  units: [unit('all', {}, [tool('Ten', tenfold, { n: '{{input.n}}' }), ask('Say', 'Say {{Ten}}')])],
  output: { ten: '{{all.Ten}}', said: '{{all.Say}}' },
});
