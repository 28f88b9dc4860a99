import { z } from 'zod';
import type { RunHandle } from '../../../../src/client/index.ts';
import { agent, ask, forEach, parallel, program, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { callTool, say, type ScriptEntry, structured } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { signer, sums, writer } from './definitions.ts';

const inner = defineProgram({
  name: 'inner',
  input: z.object({ name: z.string() }),
  units: [unit('one', {}, [agent('Letter', signer, 'Write to {{input.name}}')])],
});

const outer = defineProgram({
  name: 'outer',
  model: 'scripted/m',
  units: [unit('all', {}, [program('Inner', inner, { name: 'Ann' }), ask('End', 'Was it {{Inner}}?')])],
});

const busy = defineProgram({
  name: 'busy',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      parallel('Both', [
        [agent('Letter', signer, 'Write', { limits: { steps: 20 } })],
        Array.from({ length: 8 }, (_, index) => ask(`Ask${index}`, `Question ${index}`)),
      ]),
      ask('End', 'Was it {{Letter}}?'),
    ]),
  ],
});

const many = defineProgram({
  name: 'many',
  input: z.object({ items: z.array(z.number()) }),
  units: [
    unit('all', {}, [
      forEach('Each', '{{input.items}}', { as: 'n', atOnce: 2 }, [
        program('Sum', sums, { n: '{{n}}' }),
        agent('Letter', writer, 'On {{Sum.said}}'),
      ]),
    ]),
  ],
});

const retried = defineProgram({
  name: 'retried',
  units: [
    unit('all', { needs: [] }, [agent('Letter', signer, 'Write', { refine: { maxAttempts: 2, backoff: 'linear' } })]),
    unit('limited', { needs: ['all'] }, [
      agent('Short', signer, 'Write', { limits: { steps: 1 }, timeout: '1h', review: true, approval: true }),
    ]),
  ],
});

/** The answers of the agent that signs: it waits for a decision, and then works on for some steps. */
function signing(more: number): ScriptEntry[] {
  return [
    callTool('sign', { letter: 'Dear Ann' }, 's'),
    ...Array.from({ length: more }, (_, n) => callTool('tenfold', { n }, `t${n}`)),
    say('Dear Ann, signed'),
  ];
}

const ten = Array.from({ length: 9 }, () => say('yes'));

/** Waits for the approval of a descendant, and until the run has continued as new. */
async function waitingBelow(run: RunHandle, executions = 1): Promise<{ runId?: string; callId: string; digest: string }> {
  await until(async () => (await run.approvals()).pending.length === 1, 'the approval of a descendant', 30);
  await until(async () => (await run.status()).executions >= executions, 'the next execution', 30);
  const [waiting] = (await run.approvals()).pending;
  if (waiting === undefined) throw new Error('nothing waits');
  return waiting;
}

/** A scenario of a child that still runs when its parent has continued as new. */
function acrossExecutions(more: number, decide: (run: RunHandle) => Promise<unknown>): ProgramScenario {
  return {
    program: busy,
    script: ten,
    childScript: signing(more),
    continueAt: 40,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 8, 'the other branch', 30);
      await decide(run);
    },
  };
}

const approveBelow = async (run: RunHandle): Promise<unknown> => run.approve(await waitingBelow(run, 2), { id: 'd1' });

/** Programs whose steps are runs of agents and of other programs. */
export const children: Record<string, ProgramScenario> = {
  'program-with-descendants': {
    program: outer,
    script: [say('yes')],
    childScript: signing(0),
    meanwhile: async (run) => run.approve(await waitingBelow(run), { id: 'd1' }),
  },
  'program-with-many-children': {
    program: many,
    start: { input: { items: [1, 2, 3] } },
    script: [],
    // The children of two items run in parallel: any of their model calls may be the next.
    childScript: Array.from({ length: 6 }, () => structured({ letter: 'Dear Ann' })),
  },
  'program-with-a-child-across-executions': acrossExecutions(2, approveBelow),
  'program-with-a-long-child-across-executions': acrossExecutions(12, approveBelow),
  'program-that-checks-on-its-child': {
    ...acrossExecutions(0, async (run) => {
      const waiting = await waitingBelow(run, 2);
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      await run.approve(waiting, { id: 'd1' });
    }),
    worker: { childCheckEvery: '1s' },
  },
  'program-with-a-terminated-child': {
    ...acrossExecutions(0, async () => undefined),
    worker: { childCheckEvery: '1s' },
    meanwhile: async (run, _, { temporal }) => {
      const { runId = '' } = await waitingBelow(run, 2);
      await temporal.workflow.getHandle(runId).terminate('recorded');
    },
  },
  'program-cancelled-with-its-child': {
    program: outer,
    script: [],
    childScript: signing(0),
    meanwhile: async (run) => {
      await waitingBelow(run);
      await run.cancel('recorded');
    },
  },
  'program-cancelled-with-an-earlier-child': acrossExecutions(0, async (run) => {
    await waitingBelow(run, 2);
    await run.cancel('recorded');
  }),
  'program-that-starts-a-child-again': {
    program: retried,
    script: [],
    childScript: [callTool('sign', { letter: 'a' }, 's'), callTool('tenfold', { n: 1 }, 't'), say('b'), callTool('tenfold', { n: 2 }, 't')],
    meanwhile: async (run, _, { temporal }) => {
      const { runId = '' } = await waitingBelow(run);
      await temporal.workflow.getHandle(runId).cancel();
      await until(async () => (await run.approvals()).pending[0]?.callId === 'limited.Short', 'the next child waits', 30);
      await run.approve('limited.Short', { id: 'd1', arguments: { input: 'Write briefly' } });
    },
  },
};
