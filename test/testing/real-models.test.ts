import { afterEach, describe, expect, test, vi } from 'vitest';
import { openai } from '../../activities/models/openai/openai.ts';
import type { ModelRequest } from '../../src/core/domain/model.ts';
import { forbidRealModels } from '../../src/testing/index.ts';
import { chatChunk } from '../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../fakes/openai-server.ts';

const request: ModelRequest = { model: 'm', instructions: [], conversation: [], tools: [], settings: {} };
const context = { signal: new AbortController().signal };

afterEach(() => vi.unstubAllEnvs());

describe('if real models are forbidden', () => {
  test('a request to one fails before anything is sent, with the remedy', async () => {
    const allow = forbidRealModels();
    try {
      await expect(openai({ apiKey: 'k' }).call(request, context)).rejects.toMatchObject({
        code: 'model_forbidden',
        message: expect.stringMatching(/Model "m" at "api.openai.com" was not called: .* Give the run a scripted model/),
      });
    } finally {
      allow();
    }
  });

  test('by the environment, they are so for a whole process', async () => {
    vi.stubEnv('LONGHAUL_FORBID_REAL_MODELS', '1');
    await expect(openai({ apiKey: 'k' }).call(request, context)).rejects.toMatchObject({ code: 'model_forbidden' });
    vi.stubEnv('LONGHAUL_FORBID_REAL_MODELS', '0');
    const gone = openai({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' });
    await expect(gone.call(request, context)).rejects.toMatchObject({ code: 'model_unreachable' });
  });

  test('a fake provider can be called if its host is excepted', async () => {
    const fake = await startFakeOpenAI((reply) => {
      reply.events(chatChunk({ role: 'assistant', content: 'Hello.' }), chatChunk({}, 'stop'));
      reply.raw('data: [DONE]\n\n');
      reply.end();
    });
    const client = openai({ apiKey: 'k', baseURL: fake.url, api: 'chat' });
    const allowAll = forbidRealModels({ except: ['127.0.0.1'] });
    expect(await client.call(request, context)).toMatchObject({ content: 'Hello.' });
    const allow = forbidRealModels({ except: [new URL(fake.url).host] });
    expect(await client.call(request, context)).toMatchObject({ content: 'Hello.' });
    allow();
    allowAll();
    await fake.close();
  });

  test('they can be allowed again', async () => {
    const allow = forbidRealModels();
    const allowOnceMore = forbidRealModels({ except: ['127.0.0.1:1'] });
    const client = openai({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' });
    await expect(client.call(request, context)).rejects.toMatchObject({ code: 'model_unreachable' });
    allowOnceMore();
    await expect(client.call(request, context)).rejects.toMatchObject({ code: 'model_forbidden' });
    allow();
    await expect(client.call(request, context)).rejects.toMatchObject({ code: 'model_unreachable' });
  });
});
