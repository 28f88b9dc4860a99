// A payment that is never started twice. If its answer is lost with the worker, the run asks the bank, and if that fails a person.
import { defineAgent, defineTool, type RunContext } from 'longhaul';
import { z } from 'zod';

export interface Receipt {
  number: string;
  amount: number;
}

/** The `resources` of the worker: a client of the bank, which finds a payment by the reference that it was made with. */
export interface Bank {
  bank: {
    pay: (reference: string, iban: string, amount: number) => Promise<Receipt>;
    find: (reference: string) => Promise<Receipt | undefined>;
  };
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays a bill by bank transfer',
  parameters: z.object({ iban: z.string(), amount: z.number().positive().max(5_000) }),
  effect: 'once',
  resources: ['bank'],
  timeout: '30s',
  execute: ({ iban, amount }, { idempotencyKey, resources }: RunContext<object, Bank>) => resources.bank.pay(idempotencyKey, iban, amount),
  verify: async (idempotencyKey, { resources }) => {
    const receipt = await resources.bank.find(idempotencyKey);
    return receipt === undefined ? { happened: false } : { happened: true, result: receipt };
  },
});

export const bookkeeper = defineAgent({
  name: 'bookkeeper',
  model: 'openai/gpt-5',
  instructions: 'You pay bills that are due. Never pay a bill twice.',
  tools: [pay],
  onUnknownOutcome: 'ask',
  limits: { toolCallsByName: { pay: 1 } },
});
