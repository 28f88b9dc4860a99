import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { contextUpdate, defineAgent, defineTool, type RunContext, withUpdate } from '../../src/index.ts';
import { assertTimeline, callTool, failWith, killWorker, say, scriptedModel, testAgent, together } from '../../src/testing/index.ts';

const BURST = { burst: { steps: 16, bytes: 32_000, seconds: 60 } } as const;

describe('in a burst', () => {
  test('what took several attempts to read is not read again after a crash', async () => {
    let reads = 0;
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      category: 'read',
      parameters: z.object({}),
      maxAttempts: 3,
      backoff: { initial: 10, max: 20 },
      execute: () => {
        reads += 1;
        if (reads < 3) throw new Error('not yet');
        return `read ${reads} times`;
      },
    });
    const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [look], ...BURST });
    const model = scriptedModel([callTool('look'), say('Done.')]);
    const run = await testAgent(agent, { input: 'Go', model, faults: [killWorker({ afterStep: 1 })] });
    assertTimeline(run, ['user: Go', 'agent calls look {}', 'look: read 3 times', 'agent: Done.']);
    expect(reads).toBe(3);
  });

  test('a crash while reading costs no model call that has a single attempt', async () => {
    let reads = 0;
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      category: 'read',
      parameters: z.object({}),
      execute: () => `read ${(reads += 1)} times`,
    });
    const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [look], modelMaxAttempts: 1, modelPatience: 0, ...BURST });
    const model = scriptedModel([callTool('look'), say('Done.')]);
    const run = await testAgent(agent, { input: 'Go', model, faults: [killWorker({ tool: 'look' })] });
    expect(run.result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('a call of another tool never begins on what may be read otherwise after a crash', async () => {
    let reads = 0;
    const paidTo: string[] = [];
    const deps = z.object({ customer: z.string() });
    const load = defineTool({
      name: 'load',
      description: 'Loads the customer',
      category: 'read',
      parameters: z.object({}),
      updates: ['customer'],
      execute: () => withUpdate('loaded', contextUpdate<z.output<typeof deps>>().set('customer', `customer ${(reads += 1)}`)),
    });
    const refund = defineTool({
      name: 'refund',
      description: 'Refunds',
      parameters: z.object({}),
      updates: ['customer'],
      execute: (_, context: RunContext<z.output<typeof deps>>) => {
        paidTo.push(context.deps.customer);
        return 'refunded';
      },
    });
    const agent = defineAgent({ name: 'agent', model: 'scripted/m', deps, tools: [load, refund], ...BURST });
    const model = scriptedModel([together(callTool('load'), callTool('refund')), say('Done.')]);
    const run = await testAgent(agent, { input: 'Go', deps: { customer: 'none' }, model, faults: [killWorker({ tool: 'refund' })] });
    expect(run.result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(reads).toBe(1);
    expect(new Set(paidTo)).toEqual(new Set(['customer 1']));
  });

  test('a model call that was in flight when the worker died counts that attempt, however long ago the burst began', async () => {
    const look = defineTool({ name: 'look', description: 'Looks', category: 'read', parameters: z.object({}), execute: () => 'seen' });
    // The crash is noticed after more than these seconds.
    const burst = { steps: 16, bytes: 32_000, seconds: 2 };
    const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [look], modelMaxAttempts: 2, modelPatience: 0, burst });
    const model = scriptedModel([callTool('look'), failWith('model_server_error', 'later')]);
    const run = await testAgent(agent, { input: 'Go', model, faults: [killWorker({ afterStep: 1 })] });
    expect(run.result).toMatchObject({ status: 'error', error: 'later' });
  });
});
