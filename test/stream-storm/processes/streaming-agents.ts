import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';

/** The name of the agent of the storm. */
export const AGENT = 'teller';

/** The name of the program of the storm. */
export const PROGRAM = 'drafts';

/** Milliseconds between two pieces of data of a tool. */
const LOOK_MS = 40;

const look = defineTool({
  name: 'look',
  description: 'Looks something up, and tells readers about it',
  parameters: z.object({ number: z.int() }),
  maxAttempts: 20,
  execute: async ({ number }, { emit, signal }) => {
    for (const part of [1, 2, 3]) {
      emit('part', { number, part });
      await pause(LOOK_MS, undefined, { signal });
    }
    return `looked ${number}`;
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ number: z.int() }),
  approval: 'always',
  maxAttempts: 20,
  execute: ({ number }) => `paid ${number}`,
});

/** The agent of the storm: each of its answers is streamed, some attempts at them fail in the middle. */
export const teller = defineAgent({
  name: AGENT,
  model: 'storm/model',
  tools: [look, pay],
  modelMaxAttempts: 20,
  limits: { steps: 1_000 },
});

/** The program of the storm: the model of its first step fails in the middle of each attempt, and another step takes its place. */
export const drafts = defineProgram({
  name: PROGRAM,
  model: 'storm/model',
  input: z.object({ number: z.int() }),
  units: [
    unit('main', {}, [
      ask('Draft', 'Draft {{input.number}}', { refine: { maxAttempts: 2, onExhaustion: 'fallback', fallback: 'Plain' } }),
      ask('Plain', 'Plain {{input.number}}'),
      ask('Last', 'Last {{input.number}}'),
    ]),
  ],
});
