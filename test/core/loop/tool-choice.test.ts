import { describe, expect, it } from 'vitest';
import { modelRequest } from '../../../src/core/activity-requests/agent-requests.ts';
import type { AgentSnapshot, ToolChoice } from '../../../src/core/domain/agent.ts';
import type { ModelCallOutcome } from '../../../src/core/kernel/ports.ts';
import { points } from '../../../src/core/kernel/points.ts';
import { runFakeSession, type FakeSession } from '../sessions/fake-session.ts';
import { sends } from './fakes/callers.ts';
import { call, called, type FakeRun, type FakeScript, message, runFake, said } from './fakes/fake-ports.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';
import { agentTo, to } from './handoffs/agents.ts';

const tools = [testTool('find')];
const find = (id: string): ModelCallOutcome => called(call(id, 'find'));

function agent(toolChoice: ToolChoice, more: Partial<AgentSnapshot> = {}): AgentSnapshot {
  return testSnapshot({ tools, settings: { toolChoice }, ...more });
}

/** Returns for each model call of a run if the choice of the agent holds for it. */
async function chosen(script: FakeScript): Promise<boolean[]> {
  const { modelCalls } = await runFake(script);
  return modelCalls.map(({ firstStep }) => firstStep === true);
}

/** Continues as new at the first point after each model call. */
function onceAfterEachCall(): (run: FakeRun) => boolean {
  let calls = -1;
  return ({ modelCalls }) => {
    if (modelCalls.length === calls) return false;
    calls = modelCalls.length;
    return true;
  };
}

describe('a choice of a tool holds for the first step of a turn', () => {
  it.each<[name: string, choice: ToolChoice]>([
    ['required', 'required'],
    ['required, as an object', { required: true }],
    ['required, not in every step', { required: true, every: false }],
    ['a name', { tool: 'find' }],
    ['a name, not in every step', { tool: 'find', every: false }],
  ])('%s', async (_, choice) => {
    expect(await chosen({ snapshot: agent(choice), model: [find('1'), find('2'), said('done')] })).toEqual([true, false, false]);
  });

  it.each<[name: string, choice: ToolChoice]>([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required in every step', { required: true, every: true }],
    ['a name in every step', { tool: 'find', every: true }],
  ])('%s says the same in each step, and nothing about it is recorded', async (_, choice) => {
    expect(await chosen({ snapshot: agent(choice), model: [find('1'), said('done')] })).toEqual([false, false]);
  });

  it('also over executions', async () => {
    const script = { snapshot: agent('required'), model: [find('1'), find('2'), said('done')], continueDue: onceAfterEachCall() };
    expect(await chosen(script)).toEqual([true, false, false]);
  });

  it('and still for the same step after a message interrupts its call', async () => {
    const interrupted = (run: FakeRun): ModelCallOutcome => {
      sends('also this', 'interrupt')(run);
      const partial = { id: 'partial', content: [message('let me')], finishReason: 'interrupted', usage: null };
      return { type: 'interrupted', partial };
    };
    expect(await chosen({ snapshot: agent('required'), model: [interrupted, find('1'), said('done')] })).toEqual([true, true, false]);
  });

  it('and not again for messages that arrive during the turn', async () => {
    const steered = (run: FakeRun): ModelCallOutcome => {
      sends('also this', 'steer')(run);
      return find('1');
    };
    expect(await chosen({ snapshot: agent('required'), model: [steered, find('2'), said('done')] })).toEqual([true, false, false]);
    const queued = (run: FakeRun): ModelCallOutcome => {
      sends('and that', 'queue')(run);
      return said('done');
    };
    expect(await chosen({ snapshot: agent('required'), model: [find('1'), queued, said('done, too')] })).toEqual([true, false, false]);
  });

  it('and not again for an answer that does not fit', async () => {
    const schema = { type: 'object' };
    const output = { mode: 'schema' as const, schema, providerSchema: schema, strict: true, maxRetries: 1 };
    const misfit = said('no', { output: { type: 'problem', problem: 'p' } });
    const model = [find('1'), misfit, said('{}', { output: { type: 'fits' } })];
    expect(await chosen({ snapshot: agent('required', { output }), model })).toEqual([true, false, false]);
  });

  it('of each turn of a session', async () => {
    const holds: boolean[] = [];
    const step =
      (outcome: ModelCallOutcome) =>
      (session: FakeSession): ModelCallOutcome => {
        holds.push(points.modelCallParts(session.state, { type: 'call_model', final: false }).firstStep === true);
        return outcome;
      };
    await runFakeSession({
      snapshot: agent({ tool: 'find' }),
      input: 'a',
      model: [step(find('1')), step(said('A')), step(find('2')), step(find('3')), step(said('B'))],
      callers: [({ update }) => update('send', { id: 'm1', content: 'b' })],
    });
    expect(holds).toEqual([true, false, true, false, false]);
  });

  it('of each agent that takes over, once in a turn: two that must call a tool do not hand over forever', async () => {
    const settings = { toolChoice: 'required' as const };
    const a = agentTo('a', ['b'], { tools, settings });
    const b = agentTo('b', ['a'], { tools, settings });
    const ports = { resolveHandoff: async () => ({ type: 'resolved' as const, snapshot: b }) };
    const model = [called(to('b')), called(to('a')), called(to('b')), find('1'), said('done')];
    expect(await chosen({ snapshot: a, model, ports })).toEqual([true, true, false, false, false]);
    const split = { snapshot: a, model: [called(to('b')), find('1'), said('done')], ports, continueDue: onceAfterEachCall() };
    expect(await chosen(split)).toEqual([true, true, false]);
  });

  it('of each turn of an agent in a flow', async () => {
    const settings = { toolChoice: { tool: 'find' } };
    const flow = { name: 'flow', kind: 'loop' as const, agents: ['a', 'b'], maxIterations: 2 };
    const limits = { steps: 30, finalAttempt: false };
    const a = agentTo('a', [], { tools, settings, flow, limits });
    const b = agentTo('b', [], { tools });
    const ports = { resolveHandoff: async () => ({ type: 'resolved' as const, snapshot: b }) };
    const model = [find('1'), said('A'), said('B'), find('2'), said('A'), said('B')];
    expect(await chosen({ snapshot: a, model, ports })).toEqual([true, false, false, true, false, false]);
  });

  it('as the input of the call says', async () => {
    const run = await runFake({ snapshot: agent('required'), model: [find('1'), said('done')] });
    const requesting = { runId: 'run-1', snapshot: run.state.snapshot, state: run.state };
    const inputs = run.modelCalls.map((one) => modelRequest(requesting as Parameters<typeof modelRequest>[0], one).input.firstStep);
    expect(inputs).toEqual([true, undefined]);
  });
});
