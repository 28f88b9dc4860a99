import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { stepLines } from '../../src/cli/render/timeline-lines.ts';
import type { VerifiedOutcome } from '../../src/define/tool-definition.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { callTool, dropCompletion, say, scriptedModel, testAgent, type TestedRun } from '../../src/testing/index.ts';
import { commandIo } from '../cli/command-io.ts';

/** A run that loses the answer of a payment, whose tool verifies the outcome. */
function paid(found: VerifiedOutcome, faults = [dropCompletion('pay')]): Promise<TestedRun> {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    effect: 'once',
    execute: () => 'paid',
    verify: () => found,
  });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] });
  return testAgent(agent, { input: 'Go', model: scriptedModel([callTool('pay', { amount: 5 }, 'c1'), say('Done.')]), faults });
}

describe('the step of a verified call', () => {
  test('says that the call happened, and why it was verified', async () => {
    const run = await paid({ happened: true, result: 'paid, as the bank says' });
    const call = run.result.steps?.[0]?.toolCalls[0];
    expect(call).toMatchObject({ result: 'paid, as the bank says', isError: false });
    expect(call?.verified).toEqual({ happened: true, reason: expect.stringMatching(/\w/) as string });
  });

  test('says that the call did not happen', async () => {
    const run = await paid({ happened: false });
    expect(run.result.steps?.[0]?.toolCalls[0]).toMatchObject({ isError: true, verified: { happened: false } });
  });

  test('is marked in the output of the command line', async () => {
    const run = await paid({ happened: true, result: 'paid' });
    const lines = (run.result.steps ?? []).flatMap((step) => stepLines(step, commandIo().io.output));
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}✓ verified: it happened \(its answer was lost: .+\)$/));
  });
});

test('a call with an answer is not marked', async () => {
  const run = await paid({ happened: true, result: 'looked up' }, []);
  expect(run.result.steps?.[0]?.toolCalls[0]).toMatchObject({ result: 'paid' });
  expect(run.result.steps?.[0]?.toolCalls[0]).not.toHaveProperty('verified');
});
