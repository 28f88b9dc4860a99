import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { agent, ask, defineProgram, parallel, program, unit } from '../../../src/define/program/index.ts';
import { approve, callTool, cancelRun, reject, say, scriptedModel, structured, testProgram, together } from '../../../src/testing/index.ts';

const lookedUp: string[] = [];

const lookUp = defineTool({
  name: 'lookUp',
  description: 'Looks a customer up.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => {
    lookedUp.push(id);
    return `customer ${id}`;
  },
});

const desk = defineAgent({
  name: 'desk',
  instructions: 'You answer letters.',
  model: 'scripted/model',
  deps: z.object({ customer: z.string() }),
  output: z.object({ letter: z.string() }),
  tools: [lookUp],
});

const writer = defineAgent({ name: 'writer', instructions: 'You write.', model: 'scripted/model', tools: [lookUp] });

const answering = defineProgram({
  name: 'answering',
  model: 'scripted/model',
  input: z.object({ ticket: z.string() }),
  units: [
    unit('reply', {}, [
      ask('Kind', 'What is {{input.ticket}} about?'),
      agent('Letter', desk, 'Answer {{input.ticket}} of kind {{Kind}}', { deps: { customer: '{{Kind}}' } }),
    ]),
  ],
  output: '{{reply.Letter.letter}}',
});

test('an agent step runs the agent with resolved input and deps, and its output keeps its type', async () => {
  const model = scriptedModel([say('refund'), callTool('lookUp', { id: '7' }), structured({ letter: 'Dear customer' })]);
  const { result, events, requests } = await testProgram(answering, { input: { ticket: 'T1' }, model, runId: 'run-1' });
  expect(result).toMatchObject({ status: 'completed', output: 'Dear customer', toolCallsTotal: 1, toolCallsByName: { lookUp: 1 } });
  expect(result.units[0]?.steps[1]).toMatchObject({ name: 'Letter', kind: 'agent', output: { letter: 'Dear customer' } });
  expect(result.usage.llmCalls).toBe(3);
  expect(requests[1]?.conversation[0]?.content).toEqual([{ type: 'message', role: 'user', content: 'Answer T1 of kind refund' }]);
  const notes = events.flatMap(({ step }) => (step?.at === 'reply.Letter' ? [step] : []));
  expect(notes.map(({ type, child }) => [type, child])).toEqual([
    ['start', undefined],
    ['start', 'run-1/reply.Letter'],
    ['attempt', 'run-1/reply.Letter'],
    ['end', undefined],
  ]);
});

test('the usage on the events of a program adds up to its usage', async () => {
  const model = scriptedModel([say('refund'), callTool('lookUp', { id: '7' }), structured({ letter: 'Dear customer' })]);
  const { result, events } = await testProgram(answering, { input: { ticket: 'T1' }, model });
  const tokens = events.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
  expect(tokens).toBe(result.usage.totalTokens);
  expect(tokens).toBeGreaterThan(0);
});

test('a program step runs the other program with resolved input', async () => {
  const outer = defineProgram({
    name: 'outer',
    model: 'scripted/model',
    input: z.object({ name: z.string() }),
    units: [unit('all', {}, [program('Answer', answering, { ticket: 'of {{input.name}}' })])],
    output: { answer: '{{all.Answer}}' },
  });
  const model = scriptedModel([say('refund'), structured({ letter: 'Dear Ann' })]);
  const { result } = await testProgram(outer, { input: { name: 'Ann' }, model });
  expect(result).toMatchObject({ status: 'completed', output: { answer: 'Dear Ann' } });
  expect(result.usage.llmCalls).toBe(2);
});

const drafting = (options: Parameters<typeof agent>[3] = {}) =>
  defineProgram({
    name: 'drafting',
    model: 'scripted/model',
    units: [unit('draft', {}, [agent('Draft', writer, 'Write', options)])],
  });

test('a child that does not complete is a failed attempt with its stop reason and its partial answer', async () => {
  const model = scriptedModel([together(say('Half of it'), callTool('lookUp', { id: '1' }))]);
  const { result } = await testProgram(drafting({ limits: { steps: 1 } }), { model });
  expect(result).toMatchObject({ status: 'error', errorCode: 'child_failed' });
  const error = result.units[0]?.steps[0]?.error;
  expect(error?.message).toContain("The agent 'writer' of step 'Draft' ended with max_iterations_reached (step_limit)");
  expect(error?.context.details).toContain('Partial answer: Half of it');
});

test('a further attempt runs a new child, which is told why the previous one failed', async () => {
  const model = scriptedModel([callTool('lookUp', { id: '1' }), say('Done')]);
  const { result, events, requests } = await testProgram(drafting({ limits: { steps: 1 }, refine: { maxAttempts: 3 } }), {
    model,
    runId: 'r',
  });
  expect(result).toMatchObject({ status: 'completed', output: 'Done' });
  const children = events.flatMap(({ step }) => (step?.type === 'attempt' ? [step.child] : []));
  expect(children).toEqual(['r/draft.Draft', 'r/draft.Draft#2']);
  expect(JSON.stringify(requests[1]?.conversation)).toContain('Previous attempt failed: The agent');
});

test('a person reviews the answer of a child: a rejection runs a new child with the reason', async () => {
  const model = scriptedModel([say('Too short'), say('Long enough')]);
  const shown: unknown[] = [];
  const { result, requests } = await testProgram(drafting({ review: true, refine: { maxAttempts: 2 } }), {
    model,
    decide: (waiting) => {
      shown.push(waiting.arguments['output']);
      return shown.length === 1 ? reject('write more') : approve({ arguments: { output: 'Edited' } });
    },
  });
  expect(result).toMatchObject({ status: 'completed', output: 'Edited' });
  expect(shown).toEqual(['Too short', 'Long enough']);
  expect(JSON.stringify(requests[1]?.conversation)).toContain('write more');
});

test('a person approves a child before it starts, and edits its input', async () => {
  const { result, requests } = await testProgram(drafting({ approval: true }), {
    model: scriptedModel([say('Done')]),
    decide: () => approve({ arguments: { input: 'Write a poem' } }),
  });
  expect(result.status).toBe('completed');
  expect(JSON.stringify(requests[0]?.conversation)).toContain('Write a poem');
});

const guarded = defineTool({
  name: 'guarded',
  description: 'Needs a person.',
  parameters: z.object({ id: z.string() }),
  approval: 'always',
  execute: ({ id }) => id,
});
const careful = defineAgent({ name: 'careful', instructions: 'You ask.', model: 'scripted/model', tools: [guarded] });
const asking = defineProgram({ name: 'asking', units: [unit('one', {}, [agent('Ask', careful, 'Go')])] });

test('approvals of a child are decided in its own run', async () => {
  const waits: unknown[] = [];
  const { result } = await testProgram(asking, {
    model: scriptedModel([callTool('guarded', { id: '1' }), say('Done')]),
    runId: 'top',
    decide: ({ toolName, runId }) => {
      waits.push([toolName, runId]);
      return approve();
    },
  });
  expect(result).toMatchObject({ status: 'completed', output: 'Done' });
  expect(waits).toEqual([['guarded', 'top/one.Ask']]);
});

test("a child gets at most the rest of its parent's limits", async () => {
  const thrifty = defineProgram({
    name: 'thrifty',
    model: 'scripted/model',
    limits: { toolCalls: 2 },
    units: [unit('one', {}, [agent('First', writer, 'Go'), agent('Second', writer, 'Go on')])],
  });
  const call = callTool('lookUp', { id: '1' });
  const before = lookedUp.length;
  const { result } = await testProgram(thrifty, { model: scriptedModel([call, say('One'), call, call]) });
  expect(lookedUp.length - before).toBe(2);
  expect(result.units[0]?.steps[1]?.error?.message).toContain("The agent 'writer' of step 'Second' ended with");
  expect(result.units[0]?.steps[1]?.error?.message).toContain('tool_call_limit');
});

test('a child does not start once a limit of the run is reached', async () => {
  const spent = defineProgram({
    name: 'spent',
    model: 'scripted/model',
    limits: { totalTokens: 1 },
    units: [unit('one', {}, [ask('First', 'Go'), agent('Second', writer, 'Go on')])],
  });
  const { result, requests } = await testProgram(spent, { model: scriptedModel([say('One')]) });
  expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'token_budget' });
  expect(requests.length).toBe(1);
});

test('a program that runs itself ends at the limit of depth', async () => {
  const endless = defineProgram({
    name: 'endless',
    model: 'scripted/model',
    units: [unit('one', {}, [ask('Say', 'Go'), program('Again', 'endless', {})])],
  });
  const { result, requests } = await testProgram(endless, { model: scriptedModel([say('One')], { repeatLast: true }) });
  expect(result.status).toBe('error');
  expect(requests.length).toBe(4);
  expect(result.error).toContain('the limit of 3 runs inside of each other is reached');
});

test('children of parallel branches run in parallel', async () => {
  const both = defineProgram({
    name: 'both',
    model: 'scripted/model',
    units: [unit('one', {}, [parallel('Both', [[agent('A', writer, 'a')], [agent('B', writer, 'b')]])])],
  });
  const scripted = scriptedModel([say('Same')], { repeatLast: true });
  const met = Promise.withResolvers<void>();
  let calls = 0;
  const model: typeof scripted = {
    ...scripted,
    call: async (...given) => {
      if ((calls += 1) === 2) met.resolve();
      // Neither child gets its answer before both have asked.
      await met.promise;
      return scripted.call(...given);
    },
  };
  const { result } = await testProgram(both, { model });
  expect(result).toMatchObject({ status: 'completed', output: ['Same', 'Same'] });
});

test('the cancellation of a program cancels its child, whose usage still counts', async () => {
  const { result, events } = await testProgram(asking, {
    model: scriptedModel([callTool('guarded', { id: '1' })]),
    meanwhile: [cancelRun('enough', { step: 1, waiting: 'guarded' })],
  });
  expect(result).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  expect(result.usage.llmCalls).toBe(1);
  expect(events.at(-1)).toMatchObject({ interrupted: true, step: { at: 'one.Ask', type: 'attempt' } });
});

test('a child that is not known to the worker is a problem of the program before anything is paid', async () => {
  const lost = defineProgram({ name: 'lost', model: 'scripted/model', units: [unit('one', {}, [agent('A', 'writre', 'Go')])] });
  const { result } = await testProgram(lost, { model: scriptedModel([]) });
  expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_program' });
  expect(result.error).toContain('no agent is named "writre"');
});
