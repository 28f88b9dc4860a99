import { createServer } from '@copilotkit/aimock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { PACKAGES } from './packages.ts';

/*
 * A second opinion: a server of other authors, with the APIs of several providers. It says the same in each of them, and does not check
 * requests.
 */

let instance: Awaited<ReturnType<typeof createServer>>;
beforeAll(async () => {
  const hasResult = ({ messages }: { messages: { role: string }[] }): boolean => messages.some(({ role }) => role === 'tool');
  const usage = { prompt_tokens: 20, input_tokens: 20, completion_tokens: 10, output_tokens: 10, total_tokens: 30 };
  instance = await createServer(
    [
      { match: { predicate: hasResult }, response: { content: 'About 384,400 km.', usage } },
      {
        match: { predicate: (request) => !hasResult(request) },
        response: { content: 'I look.', toolCalls: [{ name: 'look_up', arguments: '{"q":"moon"}' }], usage },
      },
    ],
    { port: 0 },
  );
});
afterAll(() => {
  instance.server.closeAllConnections();
  instance.server.close();
});

/** The path of each package's API on the server. */
const PATHS: Partial<Record<string, string>> = {
  anthropic: '/v1',
  google: '/v1beta',
  'openai-compatible': '/v1',
  openai: '/v1',
  mistral: '/v1',
};

test.each(PACKAGES.filter(({ name }) => PATHS[name] !== undefined))(
  'a run with $name ($spec) makes its call and its answer, whoever has written the server',
  async (one) => {
    const looked: string[] = [];
    const lookUp = defineTool({
      name: 'look_up',
      description: 'Looks',
      parameters: z.object({ q: z.string() }),
      execute: ({ q }) => `found ${looked.push(q)}`,
    });
    const agent = defineAgent({ name: 'clerk', model: `p/${one.modelId}`, tools: [lookUp] });
    const model = one.at(`${instance.url}${PATHS[one.name]}`, one.modelId);
    const { result, steps } = await testAgent(agent, { input: 'How far is the Moon?', model: aiSdk(() => model) });
    expect(result).toMatchObject({ status: 'completed', output: 'About 384,400 km.', toolCallsTotal: 1 });
    expect(steps[0]?.thought).toBe('I look.');
    expect(looked).toEqual(['moon']);
    // The real API of Mistral reports usage without being asked.
    expect(result.usage.totalTokens).toBe(one.name === 'mistral' ? 0 : 60);
  },
);
