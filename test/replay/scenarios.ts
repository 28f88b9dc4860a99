import type { RunHandle } from '../../src/client/index.ts';
import { callTool, failWith, hang, say, structured, type ScriptedModel, type ScriptedReply, together } from '../../src/testing/index.ts';
import { until } from '../server/testbed/until.ts';
import type { Scenario } from './scenario.ts';
import { archiveOfCancelled, archiveOfPaused, deployed } from './scenario-agents.ts';

const lookUp = callTool('search', { query: 'a' }, 'c1');
const both = together(say('looking'), lookUp, callTool('broken', {}, 'c2'), callTool('nope', {}, 'c3'));
const threeLookUps = together(lookUp, callTool('search', { query: 'b' }, 'c2'), callTool('search', { query: 'c' }, 'c3'));
const longLookUps = ['a', 'b', 'c', 'd', 'e'].map((text) => callTool('search', { query: text.repeat(1_200) }, text));
const mixed = [note('a', 'l1'), lookUp, callTool('note_down', { text: '' }, 'l2'), callTool('fetch', {}, 'l3')] as const;

const bar = callTool('raise_bar', { above: 10 }, 'bar');

/** The scenarios, by the name of the file. */
export const scenarios: Record<string, Scenario> = {
  'completed-with-parallel-tools': { agent: 'assistant', script: [both, say('done')] },
  'completed-with-tools-in-sequence': { agent: 'sequential', script: [both, say('done')] },
  'completed-with-structured-output': { agent: 'typed', script: [say('not json'), structured({ answer: 4 })] },
  'limit-with-final-attempt': { agent: 'last_words', script: [lookUp, say('the best I have')] },
  'failed-in-a-model-call': { agent: 'assistant', script: [lookUp, failWith('model_forbidden', 'no')] },
  'failed-with-an-unknown-agent': { agent: 'nobody', script: [], worker: { missingTimeout: '1ms' } },
  'failed-after-waiting-for-an-agent': { agent: 'nobody', script: [], worker: { missingTimeout: '2s' } },
  'taken-over-by-a-worker-with-the-tools': {
    agent: 'deployed',
    script: [together(callTool('refund', { amount: 1 }, 'c1'), callTool('search', { query: 'b' }, 'c2')), say('done')],
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the call waits');
      // This imitates another worker that takes the task.
      const tools = deployed.tools.splice(0);
      await run.approve('c1');
      await until(async () => (await run.status()).missing?.length === 1, 'the run waits for another worker');
      deployed.tools.push(...tools);
    },
  },
  'cancelled-in-a-model-call': { agent: 'assistant', script: [lookUp, hang('half')], meanwhile: cancelled },
  'cancelled-with-a-partial-answer': { agent: 'assistant', script: [lookUp, hang('half')], meanwhile: cancelled },
  'stopped-by-its-deadline-among-calls': { agent: 'brief', script: [together(callTool('slow', {}, 'c1'), callTool('slow', {}, 'c2'))] },
  'resumed-while-archived': {
    agent: 'assistant',
    script: [lookUp, say('done')],
    worker: { archive: archiveOfPaused, continueAsNew: { updates: 2 } },
    meanwhile: async (run) => {
      await run.pause();
      await until(async () => (await run.status()).status === 'paused', 'the run is paused');
      await run.send('one', { id: 'm1' });
      await run.send('two', { id: 'm2' });
      await archiveOfPaused.meanwhile(() => run.resume());
    },
  },
  'cancelled-while-archived': {
    agent: 'noting',
    script: [together(say('I note'), ...['a', 'b', 'c'].map((text) => callTool('note_once', { text }, text)))],
    continueAt: 8,
    worker: { archive: archiveOfCancelled },
    meanwhile: async (run) => {
      await archiveOfCancelled.meanwhile(async () => {
        await run.send('one more thing', { id: 'm1' });
        await run.cancel('recorded');
      });
    },
  },
  'two-agents-in-a-workflow': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'report' },
  'refused-inline-and-run': { agent: 'researcher', script: [say('facts')], workflowType: 'inlineAgain' },
  'two-agents-inline': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'inlineReport' },
  'continued-after-every-step': {
    agent: 'assistant',
    script: [both, callTool('search', { query: 'b' }, 'c4'), say('done')],
    continueAt: 8,
  },
  'continued-among-calls': { agent: 'sequential', script: [threeLookUps, say('done')], continueAt: 8 },
  'results-without-execution-in-a-full-history': {
    agent: 'sequential',
    script: [together(lookUp, callTool('nope', {}, 'c2')), say('done')],
    continueAt: 8,
  },
  'compacted-and-summarised': {
    agent: 'compacting',
    script: [...longLookUps.slice(0, 3), say('a summary'), ...longLookUps.slice(3), say('done')],
  },
  'told-while-paused': {
    agent: 'assistant',
    script: [lookUp, say('done'), say('done')],
    meanwhile: async (run) => {
      await run.pause();
      for (const message of ['one', 'two']) await run.send(message, { id: message });
      await run.resume();
    },
  },
  'decided-in-every-way': {
    agent: 'clerk',
    script: [together(pay(1), pay(2), pay(3), callTool('ask_colour', { question: 'Which?' }, 'q'), lookUp), pay(4), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 4);
      await run.approve('pay-1', { id: 'd1', by: 'ann' });
      await run.reject('pay-3', { id: 'd3', reason: 'too much' });
      await run.approve('pay-2', { id: 'd2', arguments: { amount: 20 }, remember: 'tool' });
      await run.respond('q', { colour: 'red' }, { id: 'd4' });
    },
  },
  'denied-by-its-deadline': { agent: 'hasty', script: [callTool('soon', {}, 'c1'), say('done')] },
  'decided-by-signal': {
    agent: 'clerk',
    script: [pay(1), say('done')],
    meanwhile: async (run, model, { temporal }) => {
      const { pending } = await waiting(run, 1);
      const workflow = temporal.workflow.getHandle(run.runId);
      const { digest } = pending[0] ?? { digest: '' };
      await workflow.signal('approve', { callId: 'pay-1', id: 's1', digest: 'other' });
      await workflow.signal('approve', { callId: 'pay-1', id: 's2', digest, by: 'ann' });
      await until(() => model.requests.length === 2, 'the call is decided');
    },
  },
  'checked-and-told': {
    agent: 'clerk',
    script: [pay(1), say('done')],
    worker: {
      authorize: ({ by }) => (by === 'ann' ? { as: 'ann@example.org' } : { refuse: 'nobody knows them' }),
      notify: () => undefined,
    },
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('pay-1', { id: 'd1', by: 'eve' }).catch(() => undefined);
      await run.approve('pay-1', { id: 'd2', by: 'ann' });
    },
  },
  'started-with-options': {
    agent: 'assistant',
    start: { model: 'scripted/other', settings: { temperature: 0 }, tags: ['acme', 'nightly'] },
    script: [lookUp, say('done')],
    continueAt: 8,
  },
  'started-from-messages': {
    agent: 'assistant',
    start: {
      messages: [
        { type: 'message', role: 'user', content: 'Look it up.' },
        { type: 'message', role: 'assistant', content: 'I look.' },
        { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: { query: 'before' } },
        { type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['found before'] },
        { type: 'tool_call', toolCallId: 'c2', name: 'search', arguments: { query: 'never' } },
      ],
    },
    script: [callTool('search', { query: 'now' }, 'c3'), callTool('search', { query: 'again' }, 'c4'), say('done')],
    continueAt: 8,
  },
  'called-a-schema-alone': {
    agent: 'ordering',
    script: [together(callTool('order', { article: 'a' }, 'c1'), callTool('search', { query: 'a' }, 'c2')), say('done')],
  },
  'told-of-its-end': { agent: 'assistant', script: [lookUp, say('done')], worker: { notifyEnded: () => undefined } },
  'waiting-over-executions': {
    agent: 'clerk',
    script: [together(pay(1), pay(2), lookUp), say('done')],
    continueAt: 30,
    meanwhile: async (run) => {
      await waiting(run, 2);
      for (const id of ['m1', 'm2', 'm3', 'm4', 'm5', 'm6']) await run.send(id, { id });
      await run.reject('pay-2', { id: 'd2' });
      await run.approve('pay-1', { id: 'd1', arguments: { amount: 7 } });
    },
  },
  'steered-while-it-waits': {
    agent: 'clerk',
    script: [together(pay(1), lookUp), say('as you like')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.send('rather not', { id: 'm1', mode: 'steer' });
    },
  },
  'interrupted-in-a-model-call': {
    agent: 'assistant',
    script: [lookUp, hang('half'), say('done')],
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 2, 'the second model call');
      await run.send('rather this', { id: 'm1', mode: 'interrupt' });
    },
  },
  'asked-at-limits': {
    agent: 'bounded',
    script: [threeLookUps, lookUp, say('done')],
    meanwhile: async (run) => {
      const [calls] = (await waiting(run, 1)).pending;
      await run.approve(calls?.callId ?? '', { id: 'd1', by: 'ann' });
      await until(async () => (await run.approvals()).pending[0]?.reason?.includes('tokens') === true, 'the limit of tokens');
      await run.raise({ totalTokens: 100 }, { id: 'r1', by: 'ann' });
    },
  },
  'cancelled-by-signal-while-it-waits': {
    agent: 'clerk',
    script: [together(pay(1), lookUp)],
    meanwhile: async (run, _, { temporal }) => {
      await waiting(run, 1);
      await temporal.workflow.getHandle(run.runId).signal('cancel', { reason: 'enough', by: 'ann' });
    },
  },
  'local-tools': {
    agent: 'locals',
    script: [note('a', 'l0'), together(say('noting'), ...mixed, note('b', 'l4')), note('c', 'l5'), say('done')],
  },
  'local-tools-in-sequence': { agent: 'locals_in_sequence', script: [together(...mixed, note('b', 'l4')), note('c', 'l5'), say('done')] },
  'local-tools-continued': {
    agent: 'locals_in_sequence',
    script: [together(note('a', 'l1'), lookUp, note('b', 'l2')), note('c', 'l3'), say('done')],
    continueAt: 8,
  },
  'local-tools-decided': {
    agent: 'locals',
    script: [together(strike(1), strike(2), note('a', 'l1'), lookUp), strike(3), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 2);
      await run.send('as you like', { id: 'm1' });
      await run.approve('strike-2', { id: 'd1', by: 'ann', arguments: { line: 20 } });
      await run.reject('strike-1', { id: 'd2', by: 'ann' });
      await waiting(run, 1);
      await run.approve('strike-3', { id: 'd3', by: 'ann' });
    },
  },
  'local-tools-beyond-their-room': {
    agent: 'locals_in_sequence',
    script: [together(recall(1), recall(2), recall(3), recall(4), recall(5), recall(6)), note('a', 'l1'), say('done')],
  },
  'local-tools-over-tasks': {
    agent: 'locals',
    script: [together(wait(2_000, 'w1'), wait(2_600, 'w2'), note('a', 'l1'), lookUp), say('done'), say('done')],
    workflowTaskTimeout: 1_000,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 1, 'the first model call');
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      await run.send('go on', { id: 'm1' });
    },
  },
  'local-tools-cancelled': {
    agent: 'locals',
    script: [together(wait(8_000, 'w1'), note('a', 'l1'), wait(8_000, 'w2'))],
    workflowTaskTimeout: 1_000,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 1, 'the first model call');
      await new Promise((resolve) => setTimeout(resolve, 300));
      await run.cancel('recorded');
    },
  },
  'answers-lost': {
    agent: 'teller',
    script: [
      together(callTool('pay', { amount: 5 }, 'p'), callTool('book', { seat: 7 }, 'b'), bar),
      callTool('picky'),
      callTool('picky'),
      say('done'),
    ],
  },
  'asked-what-became-of-a-call': {
    agent: 'asker',
    script: [together(bar, callTool('pay', { amount: 5 }, 'p')), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.respond('p', 'paid on Monday', { id: 'd1', by: 'ann' });
    },
  },
  'asked-again-after-an-update': {
    agent: 'asker',
    script: [together(bar, spend(5), spend(50)), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('spend-50', { id: 'd1', by: 'ann' });
    },
  },
};

function spend(amount: number): ScriptedReply {
  return callTool('spend', { amount }, `spend-${amount}`);
}

function pay(amount: number): ScriptedReply {
  return callTool('refund', { amount }, `pay-${amount}`);
}

function note(text: string, id: string): ScriptedReply {
  return callTool('note_down', { text }, id);
}

function recall(page: number): ScriptedReply {
  return callTool('recall', { page }, `r${page}`);
}

function strike(line: number): ScriptedReply {
  return callTool('strike', { line }, `strike-${line}`);
}

function wait(ms: number, id: string): ScriptedReply {
  return callTool('wait', { ms }, id);
}

async function cancelled(run: RunHandle, model: ScriptedModel): Promise<void> {
  await until(() => model.requests.length === 2, 'the last answer');
  await run.cancel('recorded');
}

/** Waits until so many calls need a decision. */
async function waiting(run: RunHandle, calls: number): ReturnType<RunHandle['approvals']> {
  for (;;) {
    const approvals = await run.approvals();
    if (approvals.pending.length === calls) return approvals;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
