import { callTool, failWith, hang, say, structured, together } from '../../../../src/testing/index.ts';
import type { AgentScenario } from '../../scenario.ts';
import { both, lookUp } from './look-ups.ts';
import { cancelled } from '../waits.ts';

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
