import { describe, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { connect } from '../../../src/client/index.ts';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import {
  assertSameRun,
  callTool,
  disconnect,
  durableTest,
  type DurableTestOptions,
  hang,
  isUndecidedRun,
  killWorker,
  raiseLimits,
  say,
  scriptedModel,
  slowQueries,
  startTestServer,
  testAgent,
  testProgram,
} from '../../../src/testing/index.ts';
import { act, agentWith, toolThat } from '../../testing/scenarios/scenario.ts';

/** A killed worker costs seconds, and more on a busy machine. */
vi.setConfig({ testTimeout: 120_000 });

const onServer: Pick<DurableTestOptions, 'address' | 'namespace' | 'worker' | 'timeout'> = {
  timeout: '90s',
  address: inject('temporalAddress'),
  namespace: inject('temporalNamespace'),
  worker: { workflowBundle: { codePath: inject('workflowBundlePath') } },
};

const look = toolThat('look', (_, context) => (act(context, 'look') ? 'seen' : 'seen again'));
const pay = toolThat('pay', (_, context) => (act(context, 'pay') ? 'paid' : 'paid twice'), { effect: 'once' });
const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'refunded',
});
const agent = agentWith([look, pay, refund]);
const script = () => scriptedModel([callTool('look'), callTool('look'), say('Done.')]);

describe.concurrent('a run of durableTest', () => {
  test('ends the same if its worker loses its connection for a while', async () => {
    const faults = [disconnect({ afterStep: 1, for: '300ms' }), slowQueries(5)];
    const cut = await durableTest(agent, { input: 'Go', model: script(), ...onServer, heartbeatEvery: 5_000, faults });
    expect(cut.requests).toHaveLength(3);
    assertSameRun(cut, await testAgent(agent, { input: 'Go', model: script() }));
  });

  test('ends the same if its worker dies repeatedly', async () => {
    const faults = [killWorker({ afterStep: 0 }), killWorker({ afterStep: 2 })];
    const killed = await durableTest(agent, { input: 'Go', model: script(), ...onServer, faults });
    assertSameRun(killed, await testAgent(agent, { input: 'Go', model: script() }));
    expect(killed.requests).toHaveLength(3);
    killed.ledger.assertNotRepeated();
  });

  test('never repeats a call with effect `once`, if its worker dies during the call', async () => {
    const model = scriptedModel([callTool('pay'), say('Done.')]);
    const { ledger, steps } = await durableTest(agent, { input: 'Go', model, ...onServer, faults: [killWorker({ tool: 'pay' })] });
    ledger.assertEffects(['pay']);
    ledger.assertNotRepeated();
    expect(steps[0]?.toolCalls[0]?.result).toMatch(/^The outcome of this call of 'pay' is unknown/);
  });

  test('has output and deps of the types that the agent declares', async () => {
    const typed = defineAgent({
      name: 'typed',
      model: 'scripted/m',
      deps: z.object({ n: z.number() }),
      output: z.object({ n: z.number() }),
    });
    const { result, deps } = await durableTest(typed, {
      input: 'Go',
      deps: { n: 4 },
      model: scriptedModel([say('{"n": 5}')]),
      ...onServer,
    });
    expect(result.success && result.output.n + Number(deps['n'])).toBe(9);
    expect(result.steps).toHaveLength(1);
  });
});

test('if the test gives no decision on a pending call, the error contains the record of the run so far', async () => {
  const waiting = defineAgent({ name: `waiting-${crypto.randomUUID()}`, model: 'scripted/m', tools: [refund] });
  const model = scriptedModel([callTool('refund', {}, 'c1')]);
  const error = await durableTest(waiting, { input: 'Go', ...onServer, model }).catch((thrown: unknown) => thrown);
  if (!isUndecidedRun(error)) throw error;
  expect(error.waiting).toMatchObject([{ toolName: 'refund', callId: 'c1' }]);
  expect(error.record).toMatchObject({ steps: [], deps: {}, state: {}, requests: [{}] });
  expect(error.record.events.map(({ content }) => content.map(({ type }) => type))).toEqual([['message'], ['tool_call']]);
});

describe.concurrent('durableTest fails, and leaves no run behind,', () => {
  test.each<[string, Pick<DurableTestOptions, 'model' | 'timeout' | 'meanwhile'>, string]>([
    [
      'if a call is never decided',
      { model: scriptedModel([callTool('refund', {}, 'c1')]) },
      'The run waits for a decision on "refund" (call "c1")',
    ],
    ['if it takes too long', { model: scriptedModel([hang()]), timeout: '1s' }, 'The run has not ended within 1 s'],
    ['if the script is not used up', { model: scriptedModel([say('a'), say('b')]) }, 'called once, but its script has 2 entries'],
    [
      'if a planned request is refused',
      { model: scriptedModel([say('a')]), meanwhile: [raiseLimits({ costUsd: 1 }, { step: 1 })] },
      'the run has no limit "costUsd" to raise',
    ],
  ])('%s', async (_, options, message) => {
    const name = `failing-${crypto.randomUUID()}`;
    const failing = defineAgent({ name, model: 'scripted/m', tools: [refund] });
    await expect(durableTest(failing, { input: 'Go', ...onServer, ...options })).rejects.toThrow(message);
    const client = await connect({ address: inject('temporalAddress'), namespace: inject('temporalNamespace') });
    await vi.waitFor(async () => {
      const runs = [];
      for await (const run of client.list({ query: `WorkflowId STARTS_WITH "${name}"` })) runs.push(run);
      expect(runs).toHaveLength(1);
      expect(runs[0]?.status).not.toBe('running');
    }, 30_000);
    await client.close();
  });
});

test('a test of a run that cannot start has the same error in both kits', async () => {
  const one = defineProgram({
    name: 'one',
    model: 'scripted/m',
    input: z.object({ x: z.string() }),
    units: [unit('u', {}, [ask('A', 'a')])],
  });
  const model = scriptedModel([]);
  const input = { x: 1 } as never;
  const refused = 'The input does not fit program "one": input.x: Invalid input: expected string, received number';
  await expect(testProgram(one, { input, model })).rejects.toThrow(refused);
  await expect(durableTest(one, { input, model, ...onServer })).rejects.toThrow(refused);
  const unsaid = { model } as never;
  await expect(testAgent(agent, unsaid)).rejects.toThrow('The run cannot start: missing required field "input"');
  await expect(durableTest(agent, { model, ...onServer } as never)).rejects.toThrow('The run cannot start: missing required field "input"');
});

test('durableTest uses the server that the environment names', async () => {
  vi.stubEnv('TEMPORAL_ADDRESS', inject('temporalAddress'));
  await using server = await startTestServer();
  expect(server.address).toBe(inject('temporalAddress'));
  vi.unstubAllEnvs();
});
