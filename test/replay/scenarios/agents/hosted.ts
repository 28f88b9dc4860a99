import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamPart } from '../../../../activities/models/ai-sdk/language-model.ts';
import { defineAgent, hosted } from '../../../../src/index.ts';
import { scriptedModel } from '../../../../src/testing/index.ts';
import { aiSdk, fileStore } from '../../../../worker/index.ts';
import { fakeModel, FINISH, textParts } from '../../../ai-sdk/fake-model.ts';
import { search } from '../../../server/testbed/agents.ts';
import type { AgentScenario } from '../../scenario.ts';

/** An agent whose provider searches and draws by itself, with a second model. */
export const scout = defineAgent({
  name: 'scout',
  model: ['scripted/gpt-4o', 'scripted/gpt-5'],
  tools: [search, hosted('scripted.web_search')],
});

const signed = { scripted: { signature: 'S' } };
const picture = (bytes: string): object => ({ type: 'data', data: Buffer.from(bytes).toString('base64') });

function searchCall(id: string): StreamPart {
  return { type: 'tool-call', toolCallId: id, toolName: 'search', input: '{"query":"a"}', providerMetadata: signed };
}

/** Everything that an answer can have: reasoning, a search with its page, texts, pictures, and a call. */
const everything: StreamPart[] = [
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'I search.' },
  { type: 'reasoning-end', id: 'r', providerMetadata: signed },
  { type: 'tool-call', toolCallId: 'h1', toolName: 'web_search', input: '{"query":"moon"}', providerExecuted: true },
  { type: 'tool-result', toolCallId: 'h1', toolName: 'web_search', result: [{ encrypted: 'E' }] },
  { type: 'source', id: 's1', url: 'https://moon.test/', title: 'Moon' },
  { type: 'reasoning-file', mediaType: 'image/png', data: picture('a draft'), providerMetadata: signed },
  ...textParts('Look.').slice(0, 3),
  { type: 'file', mediaType: 'image/png', data: picture('the Moon') },
  searchCall('c1'),
  FINISH,
];

/** The options of a worker whose models have these answers in order. */
function models(...answers: Parameters<typeof fakeModel>[0]): NonNullable<AgentScenario['worker']> {
  const model = fakeModel(answers, { provider: 'scripted.chat' });
  return {
    providers: { scripted: aiSdk(() => model), child: scriptedModel([]) },
    payloadStore: fileStore({ directory: join(tmpdir(), 'longhaul-replay') }),
  };
}

/** Runs whose providers have their own tools. */
export const hostedTools: Record<string, AgentScenario> = {
  'hosted-calls-sources-and-files': { agent: 'scout', script: [], worker: models(everything, textParts('done')) },
  'hosted-calls-and-another-model-over-executions': {
    agent: 'scout',
    script: [],
    // The second step is answered by the second model, which gets nothing of the first one's items.
    worker: models(everything, new TypeError('fetch failed'), [searchCall('c2'), FINISH], [searchCall('c3'), FINISH], textParts('done')),
    continueAt: 24,
  },
};
