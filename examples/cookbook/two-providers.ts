// Two providers: when one is down, slow or out of quota, the call goes to the other within the same attempt, and the run does not notice.
import { defineAgent } from 'longhaul';
import { openai } from 'longhaul/worker';
import type { CreateWorkerOptions } from 'longhaul/worker';

export const clerk = defineAgent({
  name: 'clerk',
  model: ['openai/gpt-5-mini', 'mistral/mistral-large-latest'],
  fallback: {
    coolDown: '1m', // for a minute after a failure this worker asks the first one last
    returnAt: 'turn', // the provider that answered makes all calls of the turn
  },
  modelTimeout: '2m',
  instructions: 'You answer questions about orders.',
});

/** For `providers` of the worker: each has its own key and address. A model without a price here has no cost in the result. */
export const providers: CreateWorkerOptions['providers'] = {
  openai: openai({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none' }),
  mistral: openai({ baseURL: 'https://api.mistral.ai/v1', apiKey: process.env['MISTRAL_API_KEY'] ?? 'none' }),
};
