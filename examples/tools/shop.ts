// Tools of a shop: one that is retried, one that must act once, one that is quick, and a cart that tools share.
import { contextUpdate, defineAgent, defineTool, ModelRetry, type RunContext, secret, withUpdate } from 'longhaul';
import { z } from 'zod';

const customer = z.object({ userId: z.string(), cart: z.array(z.string()) });
type Customer = z.output<typeof customer>;

/** The `resources` that the worker gives its tools. */
export interface Shop {
  stock: Map<string, number>;
  payments: Map<string, string>;
}

/** The deps and resources that these tools use: an agent needs the deps, a worker the resources. */
type ShopContext = RunContext<Customer, { shop: Shop }>;

const addToCart = defineTool({
  name: 'add_to_cart',
  description: 'Puts an article into the cart',
  parameters: z.object({ article: z.string() }),
  updates: ['cart'], // such calls run in the order of the answer
  tier: 'local', // over in milliseconds: no round trip to the server
  resources: ['shop'],
  execute: ({ article }, { deps, resources }: ShopContext) => {
    const { stock } = resources.shop;
    if (!stock.has(article)) throw new ModelRetry(`There is no "${article}". There are: ${[...stock.keys()].join(', ')}`);
    // Calls after this one see the cart with the article in it.
    return withUpdate({ articles: deps.cart.length + 1 }, contextUpdate<Customer>().append('cart', article));
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Takes the money for what is in the cart',
  parameters: z.object({}),
  effect: 'once', // never started again after it may have started
  resources: ['shop'],
  execute: async (_, { deps, resources, secret: read, idempotencyKey }: ShopContext) => {
    const key = await read(secret('payment-key')); // from the environment of the worker: PAYMENT_KEY
    const receipt = `receipt for ${deps.cart.join()}, signed with ${key.length} characters`;
    resources.shop.payments.set(idempotencyKey, receipt);
    return receipt;
  },
  // If the answer is lost (the worker died), the run asks the tool for the outcome of the call.
  verify: (idempotencyKey, { resources }) => {
    const receipt = resources.shop.payments.get(idempotencyKey);
    return receipt === undefined ? { happened: false } : { happened: true, result: receipt };
  },
});

export const clerk = defineAgent({
  name: 'shop_clerk',
  model: `openai/${process.env['OPENAI_MODEL'] ?? 'gpt-5-mini'}`,
  instructions: 'You help customers buy what they ask for.',
  deps: customer,
  tools: [addToCart, pay],
  onUnknownOutcome: 'ask', // if the tool does not know the outcome, ask a person
});
