import { expect, test } from 'vitest';
import { z } from 'zod';
import { callRules, contentFilter, defineAgent, defineGuardrail, defineTool } from '../../src/index.ts';
import { callTool, hang, say, scriptedModel, sendMessage, testAgent, type TestedRun } from '../../src/testing/index.ts';

const acts: string[] = [];
const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), execute: () => void acts.push('paid') });

const polite = contentFilter({ type: 'input', keywords: ['damn'] });
const closed = contentFilter({ type: 'output', keywords: ['secret'] });
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay], guardrails: [polite, closed] });

test('messages that are blocked abort the request, start no tool, and end the run', async () => {
  acts.length = 0;
  const { result, requests } = await testAgent(clerk, { model: scriptedModel([hang()]), input: 'damn, pay' });
  expect(result).toMatchObject({
    status: 'error',
    success: false,
    stopReason: 'guardrail',
    errorCode: 'guardrail_tripped',
    output: 'Request blocked: It contains "damn"',
    guardrail: { name: 'content-filter', type: 'input', message: 'It contains "damn"' },
    stepsUsed: 0,
  });
  expect(requests).toHaveLength(1);
  expect(acts).toEqual([]);
});

test('a later message is checked before it is answered, and the earlier ones are not checked again', async () => {
  const checked: string[] = [];
  const seen = defineGuardrail({
    name: 'seen',
    type: 'input',
    check: ({ text }) => {
      checked.push(text);
      return text === 'damn' ? { passed: false, message: 'Be polite' } : { passed: true };
    },
  });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay], guardrails: [seen] });
  const model = scriptedModel([callTool('pay'), hang()]);
  const { result, events } = await testAgent(agent, { input: 'Go', model, meanwhile: [sendMessage('damn', { step: 1, tool: 'pay' })] });
  expect(result).toMatchObject({ status: 'error', stopReason: 'guardrail', output: 'Request blocked: Be polite', stepsUsed: 1 });
  expect(checked).toEqual(['Go', 'damn']);
  const blocked = events.flatMap(({ guardrails }) => guardrails?.blocked ?? []);
  expect(events[blocked[0] ?? -1]?.content).toMatchObject([{ content: 'damn' }]);
});

/** The contents of the events of which the record says that a check has blocked them. */
function blockedIn({ events }: Pick<TestedRun, 'events'>): unknown[] {
  return events.flatMap(({ guardrails }) => guardrails?.blocked ?? []).map((offset) => events[offset]?.content);
}

test('an answer that is blocked stays in the record, which names it, and not in the output', async () => {
  const run = await testAgent(clerk, { model: scriptedModel([say('The secret is 7.')]), input: 'Tell me' });
  expect(run.result).toMatchObject({
    stopReason: 'guardrail',
    output: 'Response blocked: It contains "secret"',
    guardrail: { type: 'output' },
  });
  expect(run.result.outputText).not.toContain('The secret is 7.');
  expect(JSON.stringify(run.events)).toContain('The secret is 7.');
  expect(blockedIn(run)).toMatchObject([[{ content: 'The secret is 7.' }]]);
  expect(blockedIn(await testAgent(clerk, { model: scriptedModel([say('It is 7.')]), input: 'Tell me' }))).toEqual([]);
});

test.each([
  [
    'an answer',
    contentFilter({ type: 'output', patterns: [/(a+)+$/] }),
    [say(`${'a'.repeat(40)}!`)],
    'Response blocked: Guardrail "content-filter" failed',
  ],
  ['a call', callRules({ arguments: { to: /^(\w+\s?)*$/ } }), [callTool('send', { to: `${'word '.repeat(12)}!` }), say('Done.')], 'Done.'],
])('a pattern that would read %s for hours is ended, and the check has failed', async (_, guardrail, script, output) => {
  const send = defineTool({
    name: 'send',
    description: 'Sends',
    parameters: z.object({ to: z.string() }),
    execute: () => void acts.push('sent'),
  });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [send], guardrails: [guardrail] });
  acts.length = 0;
  const { result, events } = await testAgent(agent, { model: scriptedModel(script), input: 'Go' });
  expect(result.output).toContain(output);
  expect(JSON.stringify(events)).toContain('takes more than 1000 ms for a text of');
  expect(acts).toEqual([]);
});

test('the model calls of a guardrail count in the usage of the run', async () => {
  const judge = defineGuardrail({
    name: 'judge',
    type: 'output',
    models: ['scripted/judge'],
    check: async ({ ask, text }) => {
      const { ok } = await ask('scripted/judge', `Is this good? ${text}`, z.object({ ok: z.boolean() }));
      return ok ? { passed: true } : { passed: false, message: 'The judge says no' };
    },
  });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', guardrails: [judge] });
  const good = await testAgent(agent, { model: scriptedModel([say('Fine.'), say('{"ok":true}')]), input: 'Go' });
  expect(good.result).toMatchObject({ status: 'completed', output: 'Fine.', usage: { llmCalls: 2 } });
  const bad = await testAgent(agent, { model: scriptedModel([say('Bad.'), say('{"ok":false}')]), input: 'Go' });
  expect(bad.result).toMatchObject({ stopReason: 'guardrail', output: 'Response blocked: The judge says no', usage: { llmCalls: 2 } });
});
