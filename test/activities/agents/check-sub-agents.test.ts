import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkedAgents } from '../../../activities/create-runtime.ts';
import { buildSnapshot } from '../../../activities/agents/build-snapshot.ts';
import { ProgramRegistry } from '../../../activities/programs/program-registry.ts';
import { agentTool, defineAgent, defineFlow } from '../../../src/index.ts';

const leaf = defineAgent({ name: 'leaf', model: 'p/m' });
const middle = defineAgent({ name: 'middle', model: 'p/m', tools: [agentTool(leaf)] });
const root = defineAgent({
  name: 'root',
  model: 'p/m',
  tools: [agentTool(middle), agentTool('leaf', { name: 'by_name' })],
  children: { depth: 2 },
});

test('a worker also has the agents that the tools of its agents run, each once', () => {
  expect(checkedAgents([root]).map(({ name }) => name)).toEqual(['root', 'middle', 'leaf']);
  expect(checkedAgents([leaf, middle, root])).toEqual([leaf, middle, root]);
});

test('agents that cannot run each other stop the worker, with the path and the rule', () => {
  const lost = defineAgent({ name: 'lost', model: 'p/m', tools: [agentTool('leef', { name: 'ask' })] });
  expect(() => checkedAgents([lost, leaf])).toThrow(
    'agents.lost.tools.ask.agent: this worker has no agent "leef" (it has: "lost", "leaf")',
  );
  const one = defineAgent({ name: 'one', model: 'p/m', tools: [agentTool('two')] });
  const two = defineAgent({ name: 'two', model: 'p/m', tools: [agentTool(one)] });
  expect(() => checkedAgents([two])).toThrow('"two" runs "one" runs "two": agents must not run each other in a circle');
  const own = defineAgent({ name: 'own', model: 'p/m', tools: [agentTool('own')] });
  expect(() => checkedAgents([own])).toThrow('"own" runs "own"');
  const strict = defineAgent({ name: 'strict', model: 'p/m', deps: z.object({ tenant: z.string() }) });
  const sharing = defineAgent({ name: 'sharing', model: 'p/m', tools: [agentTool('strict', { share: ['user'] })] });
  expect(() => checkedAgents([sharing, strict])).toThrow(
    'agents.sharing.tools.strict.share: the deps of agent "strict" have no field "user"',
  );
  const keeping = defineAgent({ name: 'keeping', model: 'p/m', tools: [agentTool('desk', { kept: true })] });
  const desk = defineFlow({ name: 'desk', kind: 'sequential', agents: [leaf] });
  expect(() => checkedAgents([keeping, desk, leaf])).toThrow(
    'agents.keeping.tools.desk.kept: "desk" is a flow, which ends with its answer',
  );
  const typed = defineAgent({
    name: 'typed',
    model: 'p/m',
    output: z.object({ n: z.number() }),
    tools: [agentTool(leaf, { final: true })],
  });
  expect(() => checkedAgents([typed])).toThrow('agents.typed.tools.leaf.final: agent "leaf" answers in another form');
});

test('a step of a program cannot call an agent as a tool', () => {
  expect(() => new ProgramRegistry([], [agentTool(leaf)])).toThrow('write an "agent" step for "leaf"');
});

test('the snapshot pins the agent of a tool, and the limits of the tree', () => {
  const inputs = {
    instructions: [],
    capabilities: { structuredOutput: true },
    heartbeatMs: 1,
    searchAttributes: false,
  };
  const snapshot = buildSnapshot(root, { ...inputs, childCheckMs: 1_000 });
  expect(snapshot.tools.map(({ agent }) => agent)).toEqual([
    { name: 'middle', share: [], request: true },
    { name: 'leaf', share: [], request: true },
  ]);
  expect(snapshot).toMatchObject({ children: { depth: 2 }, timing: { childCheckMs: 1_000 } });
  expect(buildSnapshot(middle, inputs).tools[0]?.agent).toEqual({ name: 'leaf', share: [], request: true, leaf: true });
  expect(buildSnapshot(leaf, { ...inputs, childCheckMs: 1_000 }).timing).not.toHaveProperty('childCheckMs');
});
