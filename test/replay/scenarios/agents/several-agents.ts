import type { LonghaulClient, RunHandle } from '../../../../src/client/index.ts';
import { callTool, failWith, hang, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { type AgentScenario, waiting } from '../../scenario.ts';

let calls = 0;

function to(agent: string): ScriptedReply {
  return callTool('transfer_to_agent', { agent }, `t${(calls += 1)}`);
}

function find(query: string): ScriptedReply {
  return callTool('search', { query }, `f${(calls += 1)}`);
}

/** Runs that several agents act in. */
export const handoffs: Record<string, AgentScenario> = {
  'handed-over-and-back': {
    agent: 'triage',
    script: [together(find('a'), to('billing')), find('b'), to('triage'), find('c'), to('billing'), say('done')],
  },
  'handed-over-with-errors': {
    agent: 'triage',
    script: [to('account'), to('sales'), together(to('form'), to('billing')), say('{"answer":"no"}'), say('{"answer":4}')],
  },
  'handed-over-across-executions': {
    agent: 'triage',
    script: [together(find('a'), to('billing')), find('b'), to('triage'), find('c'), to('form'), say('{"answer":4}')],
    continueAt: 24,
  },
  'flow-in-sequence': {
    agent: 'pipeline',
    script: [find('a'), to('account'), say('looked up'), find('b'), say('billed'), say('{"answer":1}')],
  },
  'flow-in-rounds-over-executions': {
    agent: 'rounds',
    script: [find('a'), say('one'), say('{"answer":1}'), find('b'), say('two'), say('{"answer":4}')],
    continueAt: 24,
  },
  'handed-over-after-a-decision': {
    agent: 'triage',
    script: [together(callTool('refund', { amount: 1 }, 'r1'), to('billing')), find('b'), say('done')],
    meanwhile: async (run) => {
      const { pending } = await waiting(run, 1);
      await run.approve(pending[0]?.callId ?? '', { id: 'd1', by: 'ann' });
    },
  },
};

const edit = (request: string, id: string): ReturnType<typeof callTool> => callTool('editor', { request }, id);
const approveText = callTool('approve_text', { text: 'a' }, 'c');

/** Waits until that many agents of the run wait for a decision. */
async function waitingBelow(run: RunHandle, count: number): Promise<void> {
  await until(async () => (await run.approvals()).pending.length === count, 'the agents to wait', 30);
}

async function approveAll(run: RunHandle, client: LonghaulClient): Promise<void> {
  for (const pending of (await run.approvals()).pending) await client.handle(pending.runId ?? '').approve(pending);
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

/** Runs that keep the agent of a tool between its calls. */
export const keptAgents: Record<string, AgentScenario> = {
  'kept-agent': {
    agent: 'keeper',
    script: [together(edit('1', 'e1'), edit('x'.repeat(2_000), 'e2')), edit('3', 'e3'), say('done')],
    childScript: [say('first'), say('second'), say('third')],
  },
  'kept-agent-continued': {
    agent: 'keeper',
    continueAt: 20,
    script: [edit('1', 'e1'), edit('2', 'e2'), edit('3', 'e3'), say('done')],
    childScript: [say('first'), say('second'), say('third')],
  },
  'kept-agent-over-executions': {
    agent: 'keeper',
    script: [edit('1', 'e1'), edit('2', 'e2'), say('done')],
    childScript: [say('first'), approveText, say('second')],
    worker: { continueAsNew: { updates: 3 } },
    meanwhile: async (run, _, client) => {
      await waitingBelow(run, 1);
      for (const id of ['m1', 'm2', 'm3', 'm4', 'm5', 'm6']) await run.send(id, { id });
      await until(async () => (await run.status()).executions > 1, 'the next execution', 30);
      await approveAll(run, client);
    },
  },
  'kept-agent-cancelled': {
    agent: 'keeper',
    script: [edit('1', 'e1'), edit('2', 'e2')],
    childScript: [say('first'), approveText],
    meanwhile: async (run) => {
      await waitingBelow(run, 1);
      await run.cancel('enough');
    },
  },
  'kept-agent-interrupted': {
    agent: 'keeper',
    script: [edit('1', 'e1'), edit('2', 'e2'), say('done')],
    childScript: [hang('half'), say('second')],
    meanwhile: async (run, _, client) => {
      await until(async () => (await run.status()).children?.length === 1, 'the agent to start', 30);
      const [child = ''] = (await run.status()).children ?? [];
      await until(async () => ((await client.handle(child).status()).running ?? []).length > 0, 'the answer of the agent', 30);
      await run.send('stop', { id: 'm1', mode: 'interrupt' });
    },
  },
};
