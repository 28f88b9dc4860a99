import { z } from 'zod';
import { contextUpdate, defineAgent, defineTool, ModelRetry, withUpdate } from '../../src/index.ts';

/** The time limit of a call that hangs: it is lost then. */
const SHORT = '300ms';

const hang = (): Promise<never> => new Promise(() => undefined);

const pay = defineTool({
  name: 'pay',
  description: 'Pays, once; its answer is lost',
  parameters: z.object({ amount: z.number() }),
  effect: 'once',
  timeout: SHORT,
  execute: hang,
});

const book = defineTool({
  name: 'book',
  description: 'Books, once; its answer is lost, and can be looked up',
  parameters: z.object({ seat: z.int() }),
  effect: 'once',
  timeout: SHORT,
  verify: () => ({ happened: true, result: 'booked' }),
  execute: hang,
});

const raiseBar = defineTool({
  name: 'raise_bar',
  description: 'Sets what needs a decision',
  parameters: z.object({ above: z.number() }),
  execute: ({ above }) => withUpdate('ok', contextUpdate<{ above: number; log: number[] }>().set('above', above).append('log', above)),
});

const spend = defineTool({
  name: 'spend',
  description: 'Spends; a person decides above the bar',
  parameters: z.object({ amount: z.number() }),
  approval: ({ amount }, context: { deps: Readonly<{ above?: number }> }) => amount > (context.deps.above ?? 100),
  execute: ({ amount }) => `spent ${amount}`,
});

const picky = defineTool({
  name: 'picky',
  description: 'Wants something else',
  parameters: z.object({}),
  modelRetries: 1,
  execute: () => {
    throw new ModelRetry('something else, please');
  },
});

function counting(options: { name: string; updates?: true; tier?: 'local' }) {
  return defineTool({
    ...options,
    description: 'Counts up',
    parameters: z.object({}),
    execute: (_, { deps }: { deps: Readonly<{ count?: number }> }) => {
      const count = (deps.count ?? 0) + 1;
      return withUpdate(count, contextUpdate<{ count: number }>().set('count', count));
    },
  });
}

/** Calls run in order, next to others that wait for a decision, are local, or do not declare their changes. */
export const counter = defineAgent({
  name: 'counter',
  model: 'scripted/m',
  tools: [
    counting({ name: 'count', updates: true }),
    counting({ name: 'count_quickly', updates: true, tier: 'local' }),
    counting({ name: 'count_carelessly' }),
    spend,
    raiseBar,
  ],
});

const tools = [pay, book, raiseBar, spend, picky];

/** Calls overlap, and the model reads that an outcome is unknown. */
export const teller = defineAgent({ name: 'teller', model: 'scripted/m', tools });

/** Calls run in sequence, and a person is asked about an unknown outcome. */
export const asker = defineAgent({ name: 'asker', model: 'scripted/m', tools, parallel: false, onUnknownOutcome: 'ask' });
