import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { callTool, failWith, hang, say, type ScriptEntry, structured, together } from '../../src/testing/index.ts';
import { assistant, broken, search } from '../server/agents.ts';

/** A run to record: what the model answers, and what happens to the run meanwhile. */
export interface Scenario {
  agent: string;
  script: ScriptEntry[];
  /** A workflow of the test's own instead of a run. */
  workflowType?: string;
  /** The run is cancelled once the model has been asked for its last answer. */
  cancel?: boolean;
  /** Events of history after which the run continues as new. */
  continueAt?: number;
  /** Messages that are sent while the run is paused. */
  messages?: string[];
}

const sequential = defineAgent({ name: 'sequential', model: 'scripted/m', tools: [search, broken], parallel: false });
const typed = defineAgent({ name: 'typed', model: 'scripted/m', output: z.object({ answer: z.number() }), maxIterations: 5 });
const researcher = defineAgent({ name: 'researcher', model: 'scripted/m' });
const writer = defineAgent({ name: 'writer', model: 'scripted/m' });
const lastWords = defineAgent({ name: 'last_words', model: 'scripted/m', tools: [search], maxIterations: 1, finalAttempt: true });
const compacting = defineAgent({ name: 'compacting', model: 'scripted/m', tools: [search], window: { maxBytes: 6_000, keepResults: 1 } });

/** The agents of the scenarios. */
export const agents = [assistant, sequential, typed, researcher, writer, lastWords, compacting];

const lookUp = callTool('search', { query: 'a' }, 'c1');
const both = together(say('looking'), lookUp, callTool('broken', {}, 'c2'), callTool('nope', {}, 'c3'));
const threeLookUps = together(lookUp, callTool('search', { query: 'b' }, 'c2'), callTool('search', { query: 'c' }, 'c3'));
const longLookUps = ['a', 'b', 'c', 'd', 'e'].map((text) => callTool('search', { query: text.repeat(1_200) }, text));

/** What is recorded, by the name of the file. */
export const scenarios: Record<string, Scenario> = {
  'completed-with-parallel-tools': { agent: 'assistant', script: [both, say('done')] },
  'completed-with-tools-in-sequence': { agent: 'sequential', script: [both, say('done')] },
  'completed-with-structured-output': { agent: 'typed', script: [say('not json'), structured({ answer: 4 })] },
  'limit-with-final-attempt': { agent: 'last_words', script: [lookUp, say('the best I have')] },
  'failed-in-a-model-call': { agent: 'assistant', script: [lookUp, failWith('model_forbidden', 'no')] },
  'failed-with-an-unknown-agent': { agent: 'nobody', script: [] },
  'cancelled-in-a-model-call': { agent: 'assistant', script: [lookUp, hang('half')], cancel: true },
  'two-agents-in-a-workflow': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'report' },
  'two-agents-inline': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'inlineReport' },
  'continued-after-every-step': {
    agent: 'assistant',
    script: [both, callTool('search', { query: 'b' }, 'c4'), say('done')],
    continueAt: 8,
  },
  'continued-among-calls': { agent: 'sequential', script: [threeLookUps, say('done')], continueAt: 8 },
  'compacted-and-summarised': {
    agent: 'compacting',
    script: [...longLookUps.slice(0, 3), say('a summary'), ...longLookUps.slice(3), say('done')],
  },
  'told-while-paused': { agent: 'assistant', script: [lookUp, say('done'), say('done')], messages: ['one', 'two'] },
};
