import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask, recall, sleep, tool, unit } from '../../../src/define/program/index.ts';
import { failWith, hang, say, structured } from '../../../src/testing/index.ts';
import { one, type ProgramScenario, programScenario, several } from './scenario.ts';

const broken = defineTool({
  name: 'broken',
  description: 'Fails.',
  parameters: z.object({ n: z.number() }),
  maxAttempts: 1,
  execute: () => {
    throw new Error('out of paper');
  },
});

const throwing = defineTool({
  name: 'throwing',
  description: 'Fails at once.',
  parameters: z.object({}),
  backoff: { initial: '300ms' },
  execute: () => {
    throw new Error('out of paper');
  },
});

const brief = defineTool({
  name: 'brief',
  description: 'Hangs.',
  parameters: z.object({}),
  timeout: '100ms',
  maxAttempts: 2,
  backoff: { initial: '10ms' },
  execute: never,
});

const careful = defineTool({
  name: 'careful',
  description: 'Hangs.',
  parameters: z.object({}),
  effect: 'once',
  execute: never,
});

const slow = defineTool({ name: 'slow', description: 'Hangs.', parameters: z.object({}), maxAttempts: 1, execute: never });

/** Fails long after every timeout, so that the worker of the test can shut down. */
async function never(): Promise<never> {
  await delay(1_000);
  throw new Error('too late');
}

const down = failWith('model_error', 'down');
const said = 'All 2 refine attempts exhausted';

/** Failed attempts and what becomes of them. */
export const FAILURES: readonly ProgramScenario[] = [
  programScenario(
    'a step that fails ends its unit, and keeps the outputs before it',
    one([ask('A', 'a'), ask('B', 'b'), ask('C', 'c')], { output: '{{u.A}}' }),
    {
      script: [say('kept'), down],
      course: {
        status: 'error',
        output: 'kept',
        error: ['Unit "u" failed', 'down'],
        prompts: ['a', 'b'],
        steps: { u: 'failed', 'u.A': 'completed', 'u.B': 'failed', 'u.C': 'none' },
      },
    },
  ),
  ...(['none', 'linear', 'exponential'] as const).map((backoff) =>
    programScenario(
      `an answer that breaches an anchor heals, with the back-off ${backoff}`,
      one([ask('A', 'a', { refine: { maxAttempts: 2, backoff } })], { unit: { anchors: ['NoHallucination'] } }),
      {
        script: [say('probably'), say('yes [1]')],
        course: {
          status: 'completed',
          output: 'yes [1]',
          steps: { 'u.A': 'completed after 2' },
          prompted: ['Previous attempt failed: The answer breaches the anchor "NoHallucination": Hedging without citation: probably'],
        },
      },
    ),
  ),
  programScenario(
    'an attempt may not learn why the one before failed',
    one([ask('A', 'a', { refine: { maxAttempts: 2, passFailureContext: false } })]),
    {
      script: [down, say('up')],
      course: { status: 'completed', output: 'up', prompts: ['a', 'a'] },
    },
  ),
  programScenario(
    'attempts that are used up fail the step, with the last failure',
    one([ask('A', 'a', { refine: { maxAttempts: 2 } }), ask('B', 'b')]),
    {
      script: [down, failWith('model_error', 'still down')],
      course: { status: 'error', error: [said, 'still down'], steps: { 'u.A': 'failed after 2', 'u.B': 'none' } },
    },
  ),
  programScenario(
    'attempts that are used up skip the step, and a later failure belongs to its own step',
    one([ask('A', 'a', { refine: { maxAttempts: 2, onExhaustion: 'skip' } }), ask('B', 'b {{A}}'), ask('C', 'c')]),
    {
      script: [down, down, say('b'), failWith('model_error', 'gone')],
      course: {
        status: 'error',
        error: ['gone'],
        prompts: ['a', expect2('a'), 'b null', 'c'],
        steps: { 'u.A': 'skipped after 2: its attempts are used up', 'u.B': 'completed', 'u.C': 'failed' },
      },
    },
  ),
  programScenario(
    'attempts that are used up take the output of the fallback, which runs once',
    one([
      ask('A', 'a', { refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Plan' } }),
      ask('Plan', 'plan'),
      ask('Last', '{{A}} {{Plan}}'),
    ]),
    {
      script: [down, say('B'), say('end')],
      course: { status: 'completed', output: 'end', prompts: ['a', 'plan', 'B B'], steps: { 'u.A': 'completed: taken from "Plan"' } },
    },
  ),
  programScenario(
    'a fallback that fails fails the step',
    one([ask('A', 'a', { refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Plan' } }), ask('Plan', 'plan')]),
    {
      script: [down, failWith('model_error', 'no plan')],
      course: { status: 'error', error: ['no plan'], steps: { 'u.A': 'failed', 'u.Plan': 'failed' } },
    },
  ),
  programScenario(
    'a fallback may be the step before, which does not run again',
    one([ask('Plan', 'plan'), ask('A', 'a', { refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Plan' } })]),
    { script: [say('B'), down], course: { status: 'completed', output: 'B', prompts: ['plan', 'a'] } },
  ),
  programScenario(
    'an invalid answer passes all its violations to the next attempt',
    one([
      ask('A', 'a', {
        output: { type: 'object' },
        type: 'FactualClaim',
        confidenceFloor: 0.8,
        requiredFields: ['source'],
        range: { max: 1 },
        refine: { maxAttempts: 2 },
      }),
    ]),
    {
      script: [
        structured({ type: 'Opinion', confidence: 0.5, value: 2 }),
        structured({ type: 'FactualClaim', confidence: 0.8, value: 1, source: 's' }),
      ],
      course: {
        status: 'completed',
        output: { type: 'FactualClaim', confidence: 0.8, value: 1, source: 's' },
        prompted: [
          'mutually exclusive',
          'Confidence 0.50 is below the floor of 0.80',
          "Missing required fields: ['source']",
          'exceeds maximum',
        ],
      },
    },
  ),
  programScenario(
    'an answer without the declared form is a failed attempt',
    one([
      ask('A', 'a', { output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, refine: { maxAttempts: 3 } }),
    ]),
    {
      script: [say('four'), structured({ n: 'four' }), structured({ n: 4 })],
      course: {
        status: 'completed',
        output: { n: 4 },
        steps: { 'u.A': 'completed after 3' },
        prompted: ['the answer is not valid JSON'],
      },
    },
  ),
  programScenario('an empty answer is asked for again, as any model call that fails', one([ask('A', 'a')]), {
    script: [say(''), say('words')],
    course: { status: 'completed', output: 'words' },
  }),
  programScenario(
    'a tool that fails is retried, and fails its step in the end',
    one([tool('T', broken, { n: '{{input.n}}' }, { refine: { maxAttempts: 2 } })]),
    {
      input: { n: 1 },
      script: [],
      course: { status: 'error', error: [said, "Tool 'broken' failed: out of paper"], steps: { 'u.T': 'failed after 2' } },
    },
  ),
  programScenario(
    'arguments that do not fit the schema of a tool fail its step before the call',
    one([tool('T', broken, { n: '{{input.n}}' })]),
    {
      input: { n: 'many' },
      script: [],
      course: { status: 'error', error: ["Invalid arguments for 'broken'"] },
    },
  ),
  programScenario(
    'a call whose effect happens once is in doubt if it takes longer than its step allows',
    one([tool('T', careful, {}, { timeout: 300 })]),
    {
      script: [],
      course: { status: 'error', error: ["its answer was lost (Tool 'careful' timed out after 300ms)"], steps: { 'u.T': 'failed' } },
    },
  ),
  programScenario('a long error is cut', one([ask('A', 'a')]), {
    script: [failWith('model_bad_request', 'x'.repeat(20_000))],
    course: { status: 'error', error: ['x [Cut: '], steps: { u: 'failed' } },
  }),
  programScenario('a model call that takes longer than its step allows fails it', one([ask('A', 'a', { timeout: 200 }), sleep('Nap', 1)]), {
    script: [hang('half')],
    course: { status: 'error', error: ['Unit "u" failed: Step \'A\' timed out after 200'] },
  }),
  programScenario(
    'a tool and a memory that take longer than their step allows fail it',
    several([
      unit('a', {}, [tool('T', slow, {}, { timeout: 100 })]),
      unit('b', {}, [
        recall('R', 'x', { timeout: 100, refine: { maxAttempts: 1, onExhaustion: 'skip' } }),
        recall('S', 'x', { timeout: 100 }),
      ]),
    ]),
    {
      script: [],
      memory: { remember: never, recall: never, forget: never, forgetNamespaces: never, listNamespaces: never, list: never },
      course: {
        status: 'error',
        error: ["Step 'T' timed out after 100"],
        steps: { 'b.R': 'skipped: its attempts are used up', 'b.S': 'failed' },
      },
    },
  ),
  programScenario(
    'a tool that fails by itself until the time of its step is over fails it with its own error',
    one([tool('T', throwing, {}, { timeout: '500ms' })]),
    { script: [], course: { status: 'error', error: ["Tool 'throwing' failed: out of paper"] } },
  ),
  programScenario(
    'a tool that takes longer than it allows itself fails its step with its own error, while the step has time left',
    one([tool('T', brief, {}, { timeout: '20s' })]),
    { script: [], course: { status: 'error', error: ["Tool 'brief' failed: Tool 'brief' timed out after 100ms (2 attempts)"] } },
  ),
  programScenario('an invalid duration from the input fails the wait', one([sleep('Nap', '{{input.wait}}')]), {
    input: { wait: 'soon' },
    script: [],
    course: { status: 'error', error: ['"soon"'] },
  }),
  programScenario(
    'a failed unit skips those that need it, also by others, and no other one',
    several(
      [
        unit('a', { needs: [] }, [ask('A', 'a')]),
        unit('b', { needs: ['a'] }, [ask('B', 'b')]),
        unit('c', { needs: ['b'] }, [ask('C', 'c')]),
        unit('d', { needs: [] }, [sleep('Nap', 20), recall('D', 'd')]),
      ],
      { output: '{{d.D}}' },
    ),
    {
      script: [down],
      course: {
        status: 'error',
        output: [],
        steps: {
          a: 'failed',
          b: 'skipped: it needs unit "a", which failed',
          c: 'skipped: it needs unit "b", which was skipped',
          d: 'completed',
        },
      },
    },
  ),
  programScenario(
    'units without needs run in order, and a failed one does not stop the next',
    several([unit('a', {}, [ask('A', 'a')]), unit('b', {}, [ask('B', 'b')])]),
    {
      script: [down, say('b')],
      course: { status: 'error', output: 'b', steps: { a: 'failed', b: 'completed' }, prompts: ['a', 'b'] },
    },
  ),
];

/** Returns the prompt of the second attempt after the failure of a model call. */
function expect2(prompt: string): string {
  return `${prompt}\n\nPrevious attempt failed: Model call failed for step 'A': down`;
}
