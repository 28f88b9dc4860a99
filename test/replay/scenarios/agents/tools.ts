import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamPart } from '../../../../activities/models/ai-sdk/language-model.ts';
import { defineAgent, hosted } from '../../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { aiSdk, fileStore } from '../../../../worker/index.ts';
import { fakeModel, FINISH, textParts } from '../../../ai-sdk/fake-model.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import { type AgentScenario, lookUp, waiting } from '../../scenario.ts';

const mixed = [note('a', 'l1'), lookUp, callTool('note_down', { text: '' }, 'l2'), callTool('fetch', {}, 'l3')] as const;

/** Local tools. */
export const localTools: Record<string, AgentScenario> = {
  'local-tools': {
    agent: 'locals',
    script: [note('a', 'l0'), together(say('noting'), ...mixed, note('b', 'l4')), note('c', 'l5'), say('done')],
  },
  'local-tools-in-sequence': { agent: 'locals_in_sequence', script: [together(...mixed, note('b', 'l4')), note('c', 'l5'), say('done')] },
  'local-tools-continued': {
    agent: 'locals_in_sequence',
    script: [together(note('a', 'l1'), lookUp, note('b', 'l2')), note('c', 'l3'), say('done')],
    continueAt: 8,
  },
  'local-tools-decided': {
    agent: 'locals',
    script: [together(strike(1), strike(2), note('a', 'l1'), lookUp), strike(3), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 2);
      await run.send('as you like', { id: 'm1' });
      await run.approve('strike-2', { id: 'd1', by: 'ann', arguments: { line: 20 } });
      await run.reject('strike-1', { id: 'd2', by: 'ann' });
      await waiting(run, 1);
      await run.approve('strike-3', { id: 'd3', by: 'ann' });
    },
  },
  'local-tools-beyond-their-room': {
    agent: 'locals_in_sequence',
    script: [together(recall(1), recall(2), recall(3), recall(4), recall(5), recall(6)), note('a', 'l1'), say('done')],
  },
  'local-tools-over-tasks': {
    agent: 'locals',
    script: [together(wait(2_000, 'w1'), wait(2_600, 'w2'), note('a', 'l1'), lookUp), say('done'), say('done')],
    workflowTaskTimeout: 1_000,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 1, 'the first model call');
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      await run.send('go on', { id: 'm1' });
    },
  },
  'local-tools-cancelled': {
    agent: 'locals',
    script: [together(wait(8_000, 'w1'), note('a', 'l1'), wait(8_000, 'w2'))],
    workflowTaskTimeout: 1_000,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 1, 'the first model call');
      await new Promise((resolve) => setTimeout(resolve, 300));
      await run.cancel('recorded');
    },
  },
};

function note(text: string, id: string): ScriptedReply {
  return callTool('note_down', { text }, id);
}

function recall(page: number): ScriptedReply {
  return callTool('recall', { page }, `r${page}`);
}

function strike(line: number): ScriptedReply {
  return callTool('strike', { line }, `strike-${line}`);
}

function wait(ms: number, id: string): ScriptedReply {
  return callTool('wait', { ms }, id);
}

const bar = callTool('raise_bar', { above: 10 }, 'bar');

/** Calls whose effects matter: lost answers, and deps that change what needs a decision. */
export const effects: Record<string, AgentScenario> = {
  'answers-lost': {
    agent: 'teller',
    script: [
      together(callTool('pay', { amount: 5 }, 'p'), callTool('book', { seat: 7 }, 'b'), bar),
      callTool('picky'),
      callTool('picky'),
      say('done'),
    ],
  },
  'asked-what-became-of-a-call': {
    agent: 'asker',
    script: [together(bar, callTool('pay', { amount: 5 }, 'p')), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.respond('p', 'paid on Monday', { id: 'd1', by: 'ann' });
    },
  },
  'counted-in-order': {
    agent: 'counter',
    script: [
      together(spend(500), count('c1'), spend(5), count('c2'), quickly('c3'), quickly('c4'), carelessly('c5'), carelessly('c6')),
      together(carelessly('c7'), quickly('c8'), carelessly('c9')),
      say('done'),
    ],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('spend-500', { id: 'd1', by: 'ann' });
    },
  },
  'counted-in-order-over-executions': {
    agent: 'counter',
    script: [
      together(count('c1'), quickly('c2'), count('c3'), quickly('c4'), count('c5')),
      together(count('c6'), count('c7')),
      say('done'),
    ],
    continueAt: 12,
  },
  'asked-again-after-an-update': {
    agent: 'asker',
    script: [together(bar, spend(5), spend(50)), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('spend-50', { id: 'd1', by: 'ann' });
    },
  },
};

function count(id: string): ScriptedReply {
  return callTool('count', {}, id);
}

function quickly(id: string): ScriptedReply {
  return callTool('count_quickly', {}, id);
}

function carelessly(id: string): ScriptedReply {
  return callTool('count_carelessly', {}, id);
}

function spend(amount: number): ScriptedReply {
  return callTool('spend', { amount }, `spend-${amount}`);
}

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
