import { expect, test } from 'vitest';
import { z } from 'zod';
import { createRuntime, type RuntimeOptions } from '../../activities/create-runtime.ts';
import { ask, defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { agentTool, defineAgent, defineTool, hosted } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { fakeMemory } from '../fakes/fake-memory.ts';

const lacking = { description: 'Acts.', parameters: z.object({}), execute: () => null };
const pay = defineTool({ ...lacking, name: 'pay', resources: ['ledger'] });
const dump = defineTool({ ...lacking, name: 'dump', overflow: 'spill' });

function runtime(options: Partial<RuntimeOptions>): () => unknown {
  const context = { log: () => undefined, searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }) };
  const given = { agents: [], providers: { scripted: scriptedModel([]) }, ...options };
  return () => createRuntime(given, { ...context, upgradeOnContinueAsNew: false });
}

test.each([
  ['the worker', { tools: [pay] }, { tools: [dump] }],
  ['a step', { programs: [programOf(tool('A', pay))] }, { programs: [programOf(tool('A', dump))] }],
  ['an ask', { programs: [programOf(ask('A', 'Go', { tools: [pay] }))] }, { programs: [programOf(ask('A', 'Go', { tools: [dump] }))] }],
])('a worker cannot be created without the resources that a tool of %s needs', (_, withPay, withDump) => {
  expect(runtime(withPay)).toThrow('tool "pay" of programs needs the resource "ledger", but the worker has no resource of that name');
  expect(runtime({ ...withPay, resources: { ledger: {} } })).not.toThrow();
  expect(runtime(withDump)).toThrow('tool "dump" of programs has "overflow": "spill", but the worker has no "payloadStore"');
});

test('a worker without a store cannot have an agent whose provider makes images', () => {
  const painter = defineAgent({ name: 'painter', model: 'scripted/m', tools: [hosted('openai.image_generation')] });
  expect(runtime({ agents: [painter] })).toThrow('agent "painter" has the hosted tool "openai.image_generation"');
  const search = defineAgent({ name: 'scout', model: 'scripted/m', tools: [hosted('openai.web_search')] });
  expect(runtime({ agents: [search] })).not.toThrow();
});

test('a worker without a memory cannot have an agent that uses one', () => {
  const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', memory: true });
  expect(runtime({ agents: [clerk] })).toThrow(
    'agent "clerk" has "memory", but the worker has none: give the worker "memory", such as fileMemory({ file })',
  );
  const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(clerk)] });
  expect(runtime({ agents: [lead] })).toThrow('agent "clerk" has "memory"');
  expect(runtime({ agents: [lead], memory: fakeMemory() })).not.toThrow();
});

function programOf(step: ReturnType<typeof tool>) {
  return defineProgram({ name: 'p', model: 'scripted/model', units: [unit('u', {}, [step])] });
}
