import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { ProgramRegistry } from '../../../activities/programs/program-registry.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const provider = scriptedModel([]);
const one = defineAgent({ name: 'one', model: 'p/m' });

test('two agents with the same name are refused', () => {
  expect(() => new AgentRegistry([one, defineAgent({ name: 'one', model: 'p/other' })], { p: provider })).toThrow(
    'two agents are named "one"',
  );
});

test('an agent whose provider is missing is refused, and the error lists the existing providers', () => {
  expect(() => new AgentRegistry([one], { q: provider })).toThrow(
    'agent "one" uses model "p/m", but the worker has no provider "p" (it has: "q")',
  );
});

test('an unknown agent or provider is named in the error, with those that exist', () => {
  const registry = new AgentRegistry([one], { p: provider });
  expect(registry.agent('one')).toBe(one);
  expect(() => registry.agent('two')).toThrow(
    expect.objectContaining({ code: 'unknown_agent', message: expect.stringContaining('It has: "one"') }),
  );
  expect(registry.provider('p/a/b')).toBe(provider);
  expect(() => registry.provider('q/m')).toThrow(expect.objectContaining({ code: 'unknown_provider' }));
  expect(() => registry.provider('m')).toThrow(expect.objectContaining({ code: 'unknown_provider' }));
});

test("a tool of programs and an agent's tool with the same name are two tools", () => {
  const [ofAgent, ofProgram] = ['An agent has it.', 'Programs have it.'].map((description) =>
    defineTool({ name: 'find', description, parameters: z.object({}), execute: () => null }),
  );
  if (ofAgent === undefined || ofProgram === undefined) throw new Error('two tools');
  const desk = defineAgent({ name: 'desk', model: 'p/m', deps: z.object({ user: z.string() }), tools: [ofAgent] });
  const registry = new AgentRegistry([desk], { p: provider }, new ProgramRegistry([], [ofProgram]));
  expect(registry.tool({ agentName: 'desk' }, 'find')).toBe(ofAgent);
  expect(registry.tool({ agentName: 'desk', ofProgram: true }, 'find')).toBe(ofProgram);
  expect(registry.tool({ agentName: 'removed' }, 'find')).toBeUndefined();
  expect(registry.deps({ agentName: 'desk', ofProgram: true }, { any: 1 })).toEqual({ any: 1 });
  expect(() => registry.deps({ agentName: 'desk' }, { any: 1 })).toThrow('user');
  expect(registry.missingTool({ agentName: 'desk', ofProgram: true }, 'fnd').message).toBe(
    'No tool "fnd" of program "desk" in this worker. It has: "find". Did you mean "find"?',
  );
});

test('a worker without the agent of a run lacks the agent, with the nearest name, and not only the tool that the run needs', () => {
  const desk = defineAgent({ name: 'front-desk', model: 'p/m' });
  const missing = new AgentRegistry([desk], { p: provider }).missingTool({ agentName: 'frontdesk' }, 'look_up');
  expect(missing.message).toBe(
    'No agent "frontdesk" in this worker, of which the run needs tool "look_up". It has: "front-desk". Did you mean "front-desk"?',
  );
  expect(missing).toMatchObject({ code: 'unknown_tool', missing: { kind: 'agent', name: 'frontdesk', known: ['front-desk'] } });
});

test('an agent that hands over to an agent that the worker lacks is refused', () => {
  const triage = defineAgent({ name: 'triage', model: 'p/m', handoffs: [one, 'two'] });
  expect(() => new AgentRegistry([triage, one], { p: provider })).toThrow(
    'agent "triage": "handoffs" names the agent "two", which the worker does not have (it has: "triage", "one"): add it to "agents"',
  );
  expect(() => new AgentRegistry([triage, one, defineAgent({ name: 'two', model: 'p/m' })], { p: provider })).not.toThrow();
});

test("the tools of an agent's capabilities are among the tools of the worker", () => {
  const desk = defineAgent({ name: 'desk', model: 'p/m', memory: true, skills: ['./skills'] });
  expect(new AgentRegistry([one, desk], { p: provider }).toolNames).toEqual([
    'load_skill',
    'read_skill_file',
    'remember',
    'recall',
    'forget',
  ]);
});
