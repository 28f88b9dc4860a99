import { ask, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { callTool, say } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { sign, tenfold } from './definitions.ts';

const withTools = defineProgram({
  name: 'with-tools',
  model: 'scripted/m',
  units: [
    unit('all', { persona: 'You write letters.', anchors: ['RequiresCitation'] }, [
      ask('Letter', 'Write to Ann', { tools: [sign, tenfold], refine: { maxAttempts: 2 } }),
      ask('End', 'Was it {{Letter}}?', { anchors: [] }),
    ]),
  ],
});

const limited = defineProgram({
  name: 'limited',
  model: 'scripted/m',
  limits: { steps: 2 },
  onLimit: 'ask',
  units: [unit('all', {}, [ask('One', '1'), ask('Two', '2'), ask('Three', '3')])],
});

/** Programs with asks that have tools, and with a limit that a person raises. */
export const asksAndLimits: Record<string, ProgramScenario> = {
  'program-with-an-ask-with-tools': {
    program: withTools,
    script: [
      callTool('sign', { letter: 'Dear Ann' }, 's'),
      say('Dear Ann'),
      callTool('tenfold', { n: 1 }, 't'),
      say('Dear Ann [1]'),
      say('yes [1]'),
    ],
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the approval of the tool', 30);
      const [waiting] = (await run.approvals()).pending;
      if (waiting !== undefined) await run.approve(waiting, { id: 'd1' });
    },
  },
  'program-asked-at-its-limit': {
    program: limited,
    script: [say('one'), say('two'), say('three')],
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the request to raise the limit', 30);
      const [waiting] = (await run.approvals()).pending;
      if (waiting !== undefined) await run.approve(waiting, { id: 'd1' });
    },
  },
};
