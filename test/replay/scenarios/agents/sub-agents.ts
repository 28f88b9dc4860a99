import type { LonghaulClient, RunHandle } from '../../../../src/client/index.ts';
import { callTool, failWith, say, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';

export const edit = (request: string, id: string): ReturnType<typeof callTool> => callTool('editor', { request }, id);
export const approveText = callTool('approve_text', { text: 'a' }, 'c');

/** Waits until that many agents of the run wait for a decision. */
export async function waitingBelow(run: RunHandle, count: number): Promise<void> {
  await until(async () => (await run.approvals()).pending.length === count, 'the agents to wait', 30);
}

export async function approveAll(run: RunHandle, client: LonghaulClient): Promise<void> {
  for (const waiting of (await run.approvals()).pending) await client.handle(waiting.runId ?? '').approve(waiting);
}

/** Runs that call agents as tools. */
export const subAgents: Record<string, AgentScenario> = {
  'sub-agents-called': {
    agent: 'leader',
    script: [edit('x'.repeat(2_000), 'e1'), edit('again', 'e2'), say('done')],
    childScript: [say('first'), failWith('model_bad_request', 'no')],
  },
  'sub-agents-of-a-user': {
    agent: 'leader',
    start: { principal: { tenant: 'acme', user: 'ada', claims: { role: 'clerk' } } },
    script: [edit('a', 'e1'), say('done')],
    childScript: [say('edited')],
  },
  'sub-agents-over-executions': {
    agent: 'leader',
    script: [together(edit('1', 'e1'), edit('2', 'e2'), edit('3', 'e3')), say('done')],
    childScript: [approveText, approveText, approveText, say('edited'), say('edited'), say('edited')],
    worker: { continueAsNew: { updates: 3 } },
    meanwhile: async (run, _, client) => {
      await waitingBelow(run, 3);
      for (const id of ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8']) await run.send(id, { id });
      await until(async () => (await run.status()).executions > 2, 'later executions', 30);
      await approveAll(run, client);
    },
  },
  'side-by-side-over-executions': {
    agent: 'side_by_side',
    script: [say('read')],
    childScript: [approveText, say('edited')],
    worker: { continueAsNew: { updates: 3 } },
    meanwhile: async (run, _, client) => {
      await waitingBelow(run, 1);
      for (let time = 0; time < 4; time += 1) {
        await run.pause();
        await run.resume();
      }
      await until(async () => (await run.status()).executions > 1, 'the next execution', 30);
      await approveAll(run, client);
    },
  },
  'sub-agents-interrupted': {
    agent: 'leader',
    script: [together(edit('1', 'e1'), edit('2', 'e2')), say('done')],
    childScript: [approveText, approveText],
    meanwhile: async (run) => {
      await waitingBelow(run, 2);
      await run.send('stop', { id: 'm1', mode: 'interrupt' });
    },
  },
  'sub-agents-cancelled-after-a-switch': {
    agent: 'leader',
    script: [together(edit('1', 'e1'), edit('2', 'e2'))],
    childScript: [approveText, approveText],
    worker: { continueAsNew: { updates: 2 } },
    meanwhile: async (run) => {
      await waitingBelow(run, 2);
      for (const id of ['m1', 'm2', 'm3']) await run.send(id, { id });
      await until(async () => (await run.status()).executions > 1, 'the next execution', 30);
      await run.pause();
      await run.resume();
      await run.cancel('enough');
    },
  },
};
