import { describe, expect, it } from 'vitest';
import { agentTool, defineAgent } from '../../src/index.ts';
import { assertTimeline, callTool, say, scriptedModel, sendMessage, testAgent } from '../../src/testing/index.ts';

const helper = defineAgent({ name: 'helper', model: 'scripted/model-1', instructions: 'Help.' });

describe('a message that says nothing', () => {
  it.each(['', ' \n'])('starts no run: %j', async (input) => {
    const clerk = defineAgent({ name: 'clerk', model: 'scripted/model-1', instructions: 'Sell.' });
    await expect(testAgent(clerk, { input, model: scriptedModel([say('Yes?')]) })).rejects.toThrow(/input: expected a text or media, got/);
  });

  it('is refused by a run', async () => {
    const clerk = defineAgent({ name: 'clerk', model: 'scripted/model-1', instructions: 'Sell.' });
    const meanwhile = [sendMessage(' ', { step: 1 })];
    const started = testAgent(clerk, { input: 'Hello', model: scriptedModel([say('Yes?')]), meanwhile });
    await expect(started).rejects.toThrow('content: expected a text or media, got only white space');
  });

  it.each([false, true])('is an error of the call if a model sends it to an agent (kept: %j)', async (kept) => {
    const clerk = defineAgent({
      name: 'clerk',
      model: 'scripted/model-1',
      instructions: 'Sell.',
      tools: [agentTool(helper, { name: 'help', description: 'Helps.', kept })],
    });
    const model = scriptedModel([
      callTool('help', { request: 'Find it' }),
      say('Found.'),
      callTool('help', { request: ' ' }),
      say('Done.'),
    ]);
    const run = await testAgent(clerk, { input: 'Go', model });
    expect(run.result.status).toBe('completed');
    assertTimeline(run, [
      'user: Go',
      /calls help/,
      'help: Found.',
      /calls help/,
      /^help failed: .*(?:input|content): expected a text or media, got only white space/,
      'clerk: Done.',
    ]);
  });
});
