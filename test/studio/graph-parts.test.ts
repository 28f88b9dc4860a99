import { expect, test } from 'vitest';
import type { AgentDetails, Event, StreamItem } from '../../studio/api-types.ts';
import { agentGraph, programGraph, readOthers } from '../../studio/graph-parts.ts';
import { RunRecord } from '../../studio/record.ts';

const details = (parts: Partial<AgentDetails>): AgentDetails => ({
  name: 'lead',
  models: [],
  settings: {},
  limits: {},
  tools: [],
  hosted: [],
  mcp: [],
  handoffs: [],
  agents: [],
  ...parts,
});
const usage = { promptTokens: 5, completionTokens: 5, totalTokens: 10 };
const recordOf = (...events: Partial<Event>[]): RunRecord => {
  const record = new RunRecord();
  const base = { executionId: 'x', timestamp: '2026-11-01T00:00:03Z', author: 'lead', content: [] };
  record.take(events.map((one, offset): StreamItem => ({ type: 'event', offset, event: { ...base, id: `e${offset}`, ...one } })));
  return record;
};
const arrows = ({ edges }: ReturnType<typeof agentGraph>): string[] => edges.map(({ from, to }) => `${from} > ${to}`);

test('the agents of a flow are in the order they act, and a loop leads back', () => {
  const agents = ['a', 'b', 'c'];
  const flowOf = (kind: string): string[] => arrows(agentGraph(details({ agents, flow: { kind, agents } })));
  expect(flowOf('sequential')).toEqual(['lead > a', 'a > b', 'b > c']);
  expect(flowOf('loop')).toEqual(['lead > a', 'a > b', 'b > c', 'c > a']);
  expect(flowOf('parallel')).toEqual(['lead > a', 'lead > b', 'lead > c']);
});

test('a run adds the steps of each agent, and the handoffs', () => {
  const record = recordOf({ usage }, { usage, author: 'refunds' }, { usage, author: 'refunds' }, { usage, author: 'lead' });
  const graph = agentGraph(details({ handoffs: ['refunds', 'other'], agents: ['refunds', 'other'] }), { record });
  expect(graph.nodes.map(({ label, detail, tone }) => `${label}: ${detail} (${tone})`)).toEqual([
    'lead: Agent · 2 steps (good)',
    'refunds: by handoff · 2 steps (good)',
    'other: by handoff (calm)',
  ]);
  expect(arrows(graph)).toEqual(['lead > refunds', 'lead > other', 'refunds > lead']);
});

test('an agent behind a handoff is drawn behind the agent that hands over, with its own tools and flow', () => {
  const others = new Map(
    [
      details({ name: 'second', handoffs: ['third', 'lead'], agents: ['third', 'lead'] }),
      details({
        name: 'third',
        agents: ['reader', 'article'],
        tools: [{ name: 'read', description: '', parameters: {}, agent: 'reader' }],
      }),
      details({ name: 'article', agents: ['a', 'b'], flow: { kind: 'sequential', agents: ['a', 'b'] } }),
    ].map((one) => [one.name, one]),
  );
  const graph = agentGraph(details({ handoffs: ['second'], agents: ['second'] }), { others });
  expect(graph.nodes.map(({ label, detail }) => `${label}: ${detail}`)).toEqual([
    'lead: Agent',
    'second: by handoff',
    'third: by handoff',
    'reader: as a tool',
    'article: in its flow',
    'a: in its flow',
    'b: in its flow',
  ]);
  expect(arrows(graph)).toEqual([
    'lead > second',
    'second > third',
    'second > lead',
    'third > reader',
    'third > article',
    'article > a',
    'a > b',
  ]);
});

test('an agent that the service does not know is drawn once it has acted, behind the agent that has handed over to it', () => {
  const record = recordOf({ usage }, { usage, author: 'second' }, { usage, author: 'third' });
  const graph = agentGraph(details({ handoffs: ['second'], agents: ['second'] }), { record });
  expect(graph.nodes.map(({ label, detail }) => `${label}: ${detail}`)).toEqual([
    'lead: Agent · 1 step',
    'second: by handoff · 1 step',
    'third: by handoff · 1 step',
  ]);
  expect(arrows(graph)).toEqual(['lead > second', 'second > third']);
});

test('a step of a program shows its time, its attempts and the breaches of its answers', () => {
  const note = { at: 'write.Letter', kind: 'ask' };
  const breach = { anchors: { breaches: [{ anchor: 'RequiresCitation', violations: ['none'] }] } };
  const record = recordOf(
    { step: { ...note, type: 'attempt', attempt: 1, verdict: breach } },
    { step: { ...note, type: 'attempt', attempt: 1, verdict: breach } },
    { step: { ...note, type: 'end', attempt: 2, startedAt: '2026-11-01T00:00:00Z' } },
  );
  const document = { units: [{ name: 'write', steps: [{ name: 'Letter', ask: 'Write' }] }] };
  expect(programGraph(document, record).nodes).toMatchObject([
    { label: 'write', detail: 'unit' },
    { label: 'Letter', detail: 'ask · 3.0 s · 2 attempts · 1 breach', tone: 'good' },
  ]);
});

test('the agents that an agent may lead to are read from one to the next, each once, also in a circle', async () => {
  const all: Record<string, string[]> = { first: ['second', 'hidden'], second: ['third', 'first'], third: ['second'] };
  const read: string[] = [];
  const found = await readOthers({ name: 'first', agents: all['first'] ?? [] }, async (name) => {
    read.push(name);
    const agents = all[name];
    return agents === undefined ? undefined : { name, agents };
  });
  expect([...found.keys()]).toEqual(['second', 'third']);
  expect(read).toEqual(['second', 'hidden', 'third']);
});

test('of an endless chain of agents, a bounded number is read', async () => {
  const found = await readOthers({ name: '0', agents: ['1'] }, async (name) => ({ name, agents: [String(Number(name) + 1)] }));
  expect(found.size).toBe(39);
});
