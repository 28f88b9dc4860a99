import { afterEach, beforeEach } from 'vitest';
import { openai, type OpenAIOptions } from '../../../activities/models/openai/openai.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelCallContext, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { type FakeOpenAI, type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';

/** A request with one user message; `parts` replaces fields of it. */
export function modelRequest(parts: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'gpt-x',
    instructions: ['Be brief.'],
    conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: 'How far is the Moon?' }] }],
    tools: [],
    settings: {},
    ...parts,
  };
}

/** A tool for requests. */
export const SEARCH = {
  name: 'search_web',
  description: 'Searches the web.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'], additionalProperties: false },
  strict: true,
};

/** Options of a call to the fake server. */
export interface CallOptions {
  options?: OpenAIOptions;
  request?: Partial<ModelRequest>;
  context?: Partial<ModelCallContext>;
}

/** A fake server for each test of a file, with functions that call it. */
export function fakeProvider(): {
  server: () => FakeOpenAI;
  ask: (handler: Handler, callOptions?: CallOptions) => Promise<ModelResponse>;
  askForError: (handler: Handler, callOptions?: CallOptions) => Promise<ModelCallError>;
} {
  let server: FakeOpenAI | undefined;
  beforeEach(async () => {
    server = await startFakeOpenAI();
  });
  afterEach(async () => server?.close());
  const started = (): FakeOpenAI => {
    if (server === undefined) throw new Error('the fake server has not started');
    return server;
  };
  const ask = async (handler: Handler, { options, request, context }: CallOptions = {}): Promise<ModelResponse> => {
    started().script(handler);
    const client = openai({ apiKey: 'sk-test-0123456789', baseURL: started().url, ...options });
    return client.call(modelRequest(request), { signal: new AbortController().signal, ...context });
  };
  return { server: started, ask, askForError: async (handler, callOptions) => failureOf(ask(handler, callOptions)) };
}

/** Returns the rejection of a call, which must be a ModelCallError. */
export async function failureOf(call: Promise<unknown>): Promise<ModelCallError> {
  const error: unknown = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (error instanceof ModelCallError) return error;
  throw error;
}
