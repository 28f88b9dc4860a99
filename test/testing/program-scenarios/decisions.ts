import { z } from 'zod';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask, forEach, human, parallel, recall, remember, sleep, tool } from '../../../src/define/program/index.ts';
import { approve, cancelRun, failWith, hang, raiseLimits, reject, respond, say } from '../../../src/testing/index.ts';
import { one, type ProgramScenario, programScenario } from './scenario.ts';

const amount = z.object({ amount: z.number() });
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: amount, execute: (args) => `paid ${args.amount}` });
const careful = defineTool({
  name: 'careful',
  description: 'Pays.',
  parameters: amount,
  approval: (args) => args.amount > 10 && { reason: 'a lot' },
  execute: (args) => `paid ${args.amount}`,
});

/** Returns a text of arguments. */
function said(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Steps that wait for people. */
const DECISIONS: readonly ProgramScenario[] = [
  programScenario(
    'an approved step is paid, with the prompt as it was edited, also in later attempts',
    one([ask('A', 'draft {{input.x}}', { approval: true, refine: { maxAttempts: 2 } })], { unit: { anchors: ['RequiresCitation'] } }),
    {
      input: { x: 1 },
      script: [say('none'), say('see [1]')],
      decide: ({ arguments: { prompt } }) => approve({ arguments: { prompt: `${said(prompt)}, edited` } }),
      course: { status: 'completed', output: 'see [1]', prompted: ['draft 1, edited\n\nPrevious attempt failed'] },
    },
  ),
  programScenario('a rejected step is not paid and not retried', one([ask('A', 'a', { approval: true, refine: { maxAttempts: 3 } })]), {
    script: [],
    decide: () => reject('too expensive'),
    course: { status: 'error', error: ['The step was rejected: too expensive'], prompts: [], steps: { 'u.A': 'failed' } },
  }),
  programScenario('a person answers in place of a step', one([ask('A', 'a', { approval: true }), ask('B', '{{A}}')]), {
    script: [say('b')],
    decide: () => respond('by hand'),
    course: { status: 'completed', output: 'b', prompts: ['by hand'] },
  }),
  programScenario(
    'waits, questions and memory steps run as the approver has edited them',
    one(
      [
        sleep('Nap', '1h', { approval: true }),
        remember('Keep', 'k {{input.x}}', { n: '{{input.x}}' }, { approval: true }),
        recall('Find', 'nothing', { approval: true }),
        human('Who', 'Who {{input.x}}?', { approval: true }),
      ],
      { output: ['{{u.Keep}}', '{{u.Find[0].value}}', '{{u.Who}}'] },
    ),
    {
      input: { x: 4 },
      script: [],
      decide: ({ kind, toolName, arguments: args }) => {
        if (kind === 'question') return respond(said(args['question']));
        if (toolName === 'u.Nap') return approve({ arguments: { for: 20 } });
        if (toolName === 'u.Keep')
          return args['key'] === 'k 4' ? approve({ arguments: { value: 'kept', key: 'other {{x}}' } }) : reject('no');
        return approve({ arguments: toolName === 'u.Find' ? { query: 'other' } : { question: 'You?' } });
      },
      course: { status: 'completed', output: ['other {{x}}', 'kept', 'You?'] },
    },
  ),
  programScenario(
    'each item waits for its own decision, before and after it is paid',
    one([
      forEach('Each', '{{input.list}}', { atOnce: 3 }, [
        ask('A', 'about {{item}}', { approval: true, review: true, refine: { maxAttempts: 2 } }),
      ]),
    ]),
    {
      input: { list: ['x', 'y'] },
      script: [say('same'), say('same'), say('same')],
      decide: ({ callId }) => (callId === 'u.A[1].review' ? reject('again') : approve()),
      course: { status: 'completed', output: ['same', 'same'], prompted: ['about x', 'again'] },
    },
  ),
  programScenario(
    'a step whose deadline passes is rejected, or approved if the step says so',
    one([
      ask('A', 'a', { approval: { deadline: 150, onDeadline: 'approve' } }),
      ask('B', 'b', { approval: { deadline: 150 }, refine: { maxAttempts: 1, onExhaustion: 'skip' } }),
    ]),
    { script: [say('a')], course: { status: 'completed', prompts: ['a'], steps: { 'u.A': 'completed' } } },
  ),
  programScenario(
    'a tool call is approved with other arguments',
    one([tool('Pay', pay, { amount: '{{input.amount}}' }, { approval: true })]),
    {
      input: { amount: 90 },
      script: [],
      decide: ({ toolName, arguments: args }) =>
        toolName === 'pay' && args['amount'] === 90 ? approve({ arguments: { amount: 9 } }) : undefined,
      course: { status: 'completed', output: 'paid 9' },
    },
  ),
  programScenario(
    'a tool says itself which calls wait',
    one([tool('Small', careful, { amount: 5 }), tool('Large', careful, { amount: 50 })]),
    {
      script: [],
      decide: ({ reason }) => (reason === 'a lot' ? reject('no') : undefined),
      course: {
        status: 'error',
        error: ['User denied the tool execution. Reason: no'],
        steps: { 'u.Small': 'completed', 'u.Large': 'failed' },
      },
    },
  ),
  programScenario(
    'a reviewed output is accepted, edited, or rejected with a reason that the next attempt learns',
    one([ask('A', 'a', { review: true }), ask('B', 'b', { review: true }), ask('C', 'c', { review: true, refine: { maxAttempts: 2 } })], {
      output: ['{{u.A}}', '{{u.B}}', '{{u.C}}'],
    }),
    {
      script: [say('A'), say('B'), say('C'), say('C2')],
      decide: ({ toolName, arguments: { output } }) => {
        if (toolName === 'u.B.review') return approve({ arguments: { output: 'better B' } });
        return output === 'C' ? reject('too short') : approve();
      },
      course: { status: 'completed', output: ['A', 'better B', 'C2'], prompted: ['too short'], steps: { 'u.C': 'completed after 2' } },
    },
  ),
  programScenario(
    'a rejected question is a failed attempt, and is asked again',
    one([human('Who', 'Who?', { refine: { maxAttempts: 2 } })]),
    {
      script: [],
      decide: ({ callId }) => (callId.endsWith('#2') ? respond('Ann') : reject('not me')),
      course: { status: 'completed', output: 'Ann', steps: { 'u.Who': 'completed after 2' } },
    },
  ),
  programScenario(
    'parallel steps each wait for their own decision',
    one([parallel('Both', [[human('L', 'Left?')], [human('R', 'Right?')], [ask('M', 'm', { approval: true })]])]),
    {
      script: [say('middle')],
      decide: ({ arguments: { question } }) => (question === undefined ? approve() : respond(`${said(question)}!`)),
      course: { status: 'completed', output: ['Left?!', 'Right?!', 'middle'] },
    },
  ),
];

/** Limits and cancellations. */
const LIMITS: readonly ProgramScenario[] = [
  programScenario(
    'the limit of steps ends the run before the next model call',
    one([ask('A', 'a'), ask('B', 'b'), ask('C', 'c')], { limits: { steps: 2 }, output: '{{u.B}}' }),
    {
      script: [say('a'), say('b')],
      course: { status: 'max_iterations_reached', stopReason: 'step_limit', output: 'b', prompts: ['a', 'b'] },
    },
  ),
  programScenario(
    'parallel model calls count before they have ended',
    one([parallel('All', [[ask('A', 'p')], [ask('B', 'p')], [ask('C', 'p')]])], { limits: { steps: 2 } }),
    {
      script: [say('x'), say('x')],
      course: { status: 'max_iterations_reached', stopReason: 'step_limit', prompts: ['p', 'p'] },
    },
  ),
  programScenario(
    'the limit of tokens ends the run before the next model call',
    one([ask('A', 'a'), ask('B', 'b')], { limits: { totalTokens: 15 } }),
    {
      script: [say('a')],
      course: { status: 'limit_reached', stopReason: 'token_budget', prompts: ['a'] },
    },
  ),
  programScenario(
    'the limit of tool calls ends the run before the next one',
    one([tool('A', pay, { amount: 1 }), tool('B', pay, { amount: 2 })], { limits: { toolCalls: 1 } }),
    {
      script: [],
      course: { status: 'limit_reached', stopReason: 'tool_call_limit', steps: { 'u.A': 'completed' } },
    },
  ),
  programScenario('the deadline ends a wait', one([sleep('Nap', '1h'), ask('A', 'a')], { limits: { deadline: 300 } }), {
    script: [],
    course: { status: 'limit_reached', stopReason: 'deadline', prompts: [] },
  }),
  programScenario('the deadline ends the wait for a person', one([human('Who', 'Who?')], { limits: { deadline: 300 } }), {
    script: [],
    course: { status: 'limit_reached', stopReason: 'deadline' },
  }),
  programScenario(
    'a limit is raised while a step asks the model, and is in the record before its answer',
    one([ask('A', 'a'), ask('B', 'b')], { limits: { steps: 1 } }),
    {
      script: [say('a'), say('b')],
      meanwhile: [raiseLimits({ steps: 2 }, { step: 1 })],
      course: { status: 'completed', output: 'b', prompts: ['a', 'b'] },
    },
  ),
  programScenario(
    'a limit that is raised while the run waits lets it continue',
    one([ask('A', 'a'), human('Who', 'Who?'), ask('B', 'b {{Who}}')], { limits: { steps: 1 } }),
    {
      script: [say('a'), say('b')],
      meanwhile: [raiseLimits({ steps: 2 }, { step: 2, waiting: 'u.Who' })],
      decide: ({ kind }) => (kind === 'question' ? respond('Ann') : undefined),
      course: { status: 'completed', output: 'b', prompts: ['a', 'b Ann'] },
    },
  ),
  programScenario(
    'a run that is cancelled in a model call keeps the outputs before it',
    one([ask('A', 'a'), ask('B', 'b'), ask('C', 'c')], { output: '{{u.A}}' }),
    {
      script: [say('a'), hang('half an ans')],
      meanwhile: [cancelRun('not needed', { step: 2 })],
      course: { status: 'cancelled', output: 'a', prompts: ['a', 'b'], steps: { 'u.A': 'completed' } },
    },
  ),
  programScenario(
    'the deadline ends the wait before the next attempt',
    one([ask('A', 'a', { refine: { maxAttempts: 9, backoff: 'exponential' } })], { limits: { deadline: 2500 } }),
    {
      script: [failWith('model_error', 'down')],
      repeatLast: true,
      course: { status: 'limit_reached', stopReason: 'deadline' },
    },
  ),
  programScenario(
    'a cancellation ends parallel waits of all kinds',
    one([
      parallel('All', [[sleep('Nap', '1h')], [human('Who', 'Who?')], [ask('A', 'a', { refine: { maxAttempts: 2, backoff: 'linear' } })]]),
    ]),
    {
      script: [failWith('model_error', 'one')],
      meanwhile: [cancelRun('enough', { step: 1, waiting: 'u.Who' })],
      course: { status: 'cancelled', steps: { u: 'running', 'u.Nap': 'running', 'u.A': 'running' } },
    },
  ),
  programScenario('a run that is cancelled while it waits for a person ends at once', one([human('Who', 'Who?'), ask('A', 'a')]), {
    script: [],
    meanwhile: [cancelRun('not needed', { step: 1, waiting: 'u.Who' })],
    course: { status: 'cancelled', prompts: [] },
  }),
];

/** People, limits and cancellations. */
export const INTERRUPTIONS: readonly ProgramScenario[] = [...DECISIONS, ...LIMITS];
