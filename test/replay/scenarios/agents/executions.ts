import { callTool, failWith, hang, say, type ScriptedReply, structured, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { archiveOfCancelled, archiveOfPaused } from '../../scenario-agents.ts';
import { type AgentScenario, both, cancelled, lookUp, threeLookUps, waiting } from '../../scenario.ts';

/** Ways the run of an agent ends. */
export const endings: Record<string, AgentScenario> = {
  'completed-with-parallel-tools': { agent: 'assistant', script: [both, say('done')] },
  'completed-with-tools-in-sequence': { agent: 'sequential', script: [both, say('done')] },
  'completed-with-structured-output': { agent: 'typed', script: [say('not json'), structured({ answer: 4 })] },
  'limit-with-final-attempt': { agent: 'last_words', script: [lookUp, say('the best I have')] },
  'failed-in-a-model-call': { agent: 'assistant', script: [lookUp, failWith('model_forbidden', 'no')] },
  'answered-by-another-model': {
    agent: 'listed',
    script: [failWith('model_server_error', 'down'), lookUp, callTool('search', { query: 'b' }, 'c2'), say('done')],
    continueAt: 20,
  },
  'answered-by-a-larger-model': {
    agent: 'listed',
    script: [lookUp, failWith('context_length_exceeded'), failWith('context_length_exceeded'), say('done')],
  },
  'failed-with-an-unknown-agent': { agent: 'nobody', script: [], worker: { missingTimeout: '1ms' } },
  'cancelled-in-a-model-call': { agent: 'assistant', script: [lookUp, hang('half')], meanwhile: cancelled },
  'stopped-by-its-deadline-among-calls': { agent: 'brief', script: [together(callTool('slow', {}, 'c1'), callTool('slow', {}, 'c2'))] },
  'called-a-schema-alone': {
    agent: 'ordering',
    script: [together(callTool('order', { article: 'a' }, 'c1'), callTool('search', { query: 'a' }, 'c2')), say('done')],
  },
  'told-of-its-end': { agent: 'assistant', script: [lookUp, say('done')], worker: { notifyEnded: () => undefined } },
};

const longLookUps = ['a', 'b', 'c', 'd', 'e'].map((text) => callTool('search', { query: text.repeat(1_200) }, text));

/** Runs that continue as new, and runs whose events are archived. */
export const executions: Record<string, AgentScenario> = {
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
  'compacted-and-summarized': {
    agent: 'compacting',
    script: [...longLookUps.slice(0, 3), say('a summary'), ...longLookUps.slice(3), say('done')],
  },
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
};

function pay(amount: number): ScriptedReply {
  return callTool('refund', { amount }, `pay-${amount}`);
}

/** Agents in workflows of the tests. */
export const hostWorkflows: Record<string, AgentScenario> = {
  'two-agents-in-a-workflow': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'report' },
  'refused-inline-and-run': { agent: 'researcher', script: [say('facts')], workflowType: 'inlineAgain' },
  'two-agents-inline': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'inlineReport' },
};
