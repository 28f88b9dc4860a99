import { agent, ask, human, parallel, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { failWith, hang, say } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { cancelled, waiting } from '../waits.ts';
import { writer } from './definitions.ts';

const limited = defineProgram({
  name: 'limited',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      parallel('Both', [[ask('A', 'a')], [tool('Look', search, { query: 'a' }), ask('B', 'b')]]),
      tool('Free', search, { query: 'of {{Both}}' }),
      ask('C', 'c'),
    ]),
  ],
  output: '{{all.Both}}',
  limits: { steps: 2 },
});

const brief = defineProgram({
  name: 'brief',
  model: 'scripted/m',
  units: [unit('all', {}, [parallel('Both', [[sleep('Nap', '1h')], [human('Who', 'Who?')]]), ask('A', 'a')])],
  limits: { deadline: '1s' },
});

const raised = defineProgram({
  name: 'raised',
  model: 'scripted/m',
  units: [unit('all', {}, [ask('A', 'a'), human('Who', 'Who?'), tool('Look', search, { query: 'a' }), ask('B', '{{Who}}')])],
  limits: { steps: 1, toolCalls: 1 },
});

const waits = defineProgram({
  name: 'stopped_waits',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      parallel('All', [
        [sleep('Nap', '1h')],
        [human('Who', 'Who?')],
        [ask('A', 'a', { refine: { maxAttempts: 9, backoff: 'exponential' } })],
        [tool('Look', search, { query: 'a' }), ask('Later', 'l', { approval: true })],
      ]),
    ]),
  ],
});

const calls = defineProgram({
  name: 'stopped_calls',
  model: 'scripted/m',
  units: [unit('all', {}, [ask('A', 'a'), parallel('Both', [[ask('B', 'b')], [agent('Letter', writer, 'Write')]]), ask('C', 'c')])],
  output: '{{all.A}}',
});

/** Programs that a limit or a cancellation ends, and programs that are paused. */
export const interruptions: Record<string, ProgramScenario> = {
  'program-at-its-limit': { program: limited, script: [say('x'), say('x')] },
  'program-at-its-deadline': { program: brief, script: [] },
  'program-paused-and-raised': {
    program: raised,
    script: [say('a'), say('b')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.pause();
      await run.respond('all.Who', 'Ann', { id: 'd1' });
      await until(async () => (await run.status()).status === 'paused', 'the run is paused');
      await run.raise({ steps: 3 }, { id: 'r1', by: 'ann' });
      await run.resume();
    },
  },
  'program-cancelled-in-its-waits': {
    program: waits,
    script: [failWith('model_forbidden', 'no')],
    meanwhile: async (run, model, { temporal }) => {
      await waiting(run, 2);
      await until(() => model.requests.length === 1, 'the model call');
      await temporal.workflow.getHandle(run.runId).signal('cancel', { reason: 'enough', by: 'ann' });
    },
  },
  'program-cancelled-in-its-calls': { program: calls, script: [say('a'), hang('half')], childScript: [hang('half')], meanwhile: cancelled },
  'program-of-an-unknown-name': {
    program: { ...calls, name: 'unknown' },
    worker: { programs: [], missingTimeout: '1ms' },
    script: [],
  },
};
