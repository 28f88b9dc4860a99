import OpenAI, { type ClientOptions } from 'openai';
import type { Handler } from '../../../src/server/index.ts';

/** The package, as a user of the service has it, whose requests reach a handler. */
export function openaiFor(handler: Handler, options: ClientOptions = {}): OpenAI {
  return new OpenAI({
    baseURL: 'http://localhost/v1',
    apiKey: 'key',
    maxRetries: 0,
    fetch: async (url, init) => handler(new Request(url, init)),
    ...options,
  });
}
