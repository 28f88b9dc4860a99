import { z } from 'zod';
import { defineTool, ModelRetry, ToolFailure, toolOutput } from '../../../src/index.ts';
import { callTool, delay, dropCompletion, say, slowQueries, together } from '../../../src/testing/index.ts';
import { act, agentWith, scenario, toolThat } from './scenario.ts';

const look = toolThat('look', ({ text }) => `seen${text ?? ''}`);
const slow = toolThat('slow', () => 'at last');
const down = toolThat('down', () => {
  throw new Error('the service is down');
});
const flaky = toolThat('flaky', (_, { retry }) => {
  if (retry < 2) throw new Error('not yet');
  return `worked at retry ${retry}`;
});
const definitive = toolThat('definitive', () => {
  throw new ToolFailure('there is no such order');
});
const never = toolThat('never', () => Promise.reject(new Error('no use')), { retryOn: 'none' });
const picky = toolThat(
  'picky',
  ({ text }) => {
    throw new Error(text);
  },
  { retryOn: (error) => error instanceof Error && error.message === 'busy' },
);
const again = toolThat('again', ({ text }) => {
  if (text !== 'right') throw new ModelRetry('say "right"');
  return 'thanks';
});
const hanging = toolThat('hanging', () => new Promise(() => undefined), { timeout: 60, maxAttempts: 2 });
const late = toolThat(
  'late',
  async (_, { retry }) => {
    if (retry === 0) await new Promise(() => undefined);
    return 'in time';
  },
  { timeout: 400 },
);
const typed = toolThat('typed', () => 'four', { result: z.number() });
const blocks = toolThat('blocks', () =>
  toolOutput(
    [
      { type: 'text', text: 'no' },
      { type: 'text', text: 'way' },
    ],
    { isError: true },
  ),
);
const resuming = toolThat('resuming', (_, { lastHeartbeat, heartbeat }) => {
  heartbeat({ page: 7 });
  return lastHeartbeat === undefined ? 'from the start' : `from ${JSON.stringify(lastHeartbeat)}`;
});
const acting = toolThat('acting', (_, context) => (act(context, 'an effect') ? 'done' : 'had been done'));
const last = toolThat('last', () => 'done', { maxAttempts: 1 });
const keeping = toolThat('keeping', ({ text }, { state, setState }) => {
  setState('last', text ?? '');
  return `before: ${JSON.stringify(state)}`;
});
const alone = defineTool({ name: 'alone', description: 'd', parameters: z.object({ text: z.string() }), execute: 'none' });
const large = toolThat('large', ({ text }, { deps }) => `${(text ?? '').length} and ${JSON.stringify(deps).length}`);

/** Calls of tools, successful or not. */
export const TOOLS = [
  scenario('one tool after the other', agentWith([look]), {
    script: [callTool('look', { text: ' one' }), callTool('look', { text: ' two' }), say('Done.')],
    timeline: ['agent calls look {"text":" one"}', 'look: seen one', 'agent calls look {"text":" two"}', 'look: seen two', 'agent: Done.'],
  }),
  scenario('results of calls that overlap come in the order of the calls', agentWith([look, slow]), {
    script: [together(say('I look'), callTool('slow'), callTool('look')), say('Done.')],
    faults: [delay('slow', 60)],
    timeline: ['agent: I look', 'agent calls slow {}', 'agent calls look {}', 'slow: at last', 'look: seen', 'agent: Done.'],
  }),
  scenario('calls in sequence see the state that those before have set', agentWith([keeping], { parallel: false }), {
    script: [together(callTool('keeping', { text: 'a' }), callTool('keeping', { text: 'b' })), say('Done.')],
    timeline: [/^agent calls/, /^agent calls/, 'keeping: before: {}', 'keeping: before: {"last":"a"}', 'agent: Done.'],
  }),
  scenario('a tool that does not exist is an error result', agentWith([look]), {
    script: [callTool('look_up'), say('Done.')],
    timeline: ['agent calls look_up {}', "look_up failed: Tool 'look_up' not found in agent's tool list", 'agent: Done.'],
  }),
  scenario('a tool that is a schema alone is an error result once the arguments fit', agentWith([alone, look]), {
    script: [together(callTool('alone', { text: 'x' }), callTool('look'), callTool('alone')), say('Done.')],
    timeline: [
      'agent calls alone {"text":"x"}',
      'agent calls look {}',
      'agent calls alone {}',
      /^alone failed: Tool 'alone' is not executable/,
      'look: seen',
      /^alone failed: .*text/s,
      'agent: Done.',
    ],
  }),
  scenario('arguments that do not fit, or are not JSON, are error results', agentWith([look]), {
    script: [together(callTool('look', { text: 7 }), callTool('look', '{"text": "fixed",}'), callTool('look', '<nothing>')), say('Done.')],
    timeline: [
      /^agent calls/,
      /^agent calls/,
      /^agent calls/,
      /^look failed: .*text/s,
      'look: seenfixed',
      /^look failed/,
      'note on look: the model wrote as its arguments: <nothing>',
      'agent: Done.',
    ],
  }),
  scenario('an error that a tool throws is retried, and then becomes a result with the number of attempts', agentWith([down]), {
    script: [callTool('down'), say('Done.')],
    timeline: ['agent calls down {}', 'down failed: the service is down (3 attempts)', 'agent: Done.'],
  }),
  scenario('a tool that recovers has a result', agentWith([flaky]), {
    script: [callTool('flaky'), say('Done.')],
    timeline: ['agent calls flaky {}', 'flaky: worked at retry 2', 'agent: Done.'],
  }),
  scenario('a definitive failure is not retried', agentWith([definitive]), {
    script: [callTool('definitive'), say('Done.')],
    timeline: ['agent calls definitive {}', 'definitive failed: there is no such order', 'agent: Done.'],
  }),
  scenario('a tool that is never retried fails at once', agentWith([never]), {
    script: [callTool('never'), say('Done.')],
    timeline: ['agent calls never {}', 'never failed: no use', 'agent: Done.'],
  }),
  scenario('a tool says which errors are retried', agentWith([picky]), {
    script: [together(callTool('picky', { text: 'busy' }), callTool('picky', { text: 'broken' })), say('Done.')],
    timeline: [/^agent calls/, /^agent calls/, 'picky failed: busy (3 attempts)', 'picky failed: broken', 'agent: Done.'],
  }),
  scenario('a tool may ask the model to try again', agentWith([again]), {
    script: [callTool('again'), callTool('again', { text: 'right' }), say('Done.')],
    timeline: [/^agent calls/, /^again failed: say "right"/, /^agent calls/, 'again: thanks', 'agent: Done.'],
  }),
  scenario('a tool asks the model to try again so often and no more', agentWith([again]), {
    script: [callTool('again'), callTool('again'), callTool('again'), say('Done.')],
    timeline: [
      /calls/,
      /^again failed/,
      /calls/,
      /^again failed/,
      /calls/,
      /^again failed: Tool 'again' failed, and has no retries left/,
      'agent: Done.',
    ],
  }),
  scenario('an attempt that takes too long is retried', agentWith([late]), {
    script: [callTool('late'), say('Done.')],
    timeline: ['agent calls late {}', 'late: in time', 'agent: Done.'],
  }),
  scenario('a tool that always takes too long has timed out', agentWith([hanging]), {
    script: [callTool('hanging'), say('Done.')],
    timeline: ['agent calls hanging {}', "hanging failed: Tool 'hanging' timed out after 60ms (2 attempts)", 'agent: Done.'],
  }),
  scenario('a result that does not fit its schema is an error', agentWith([typed]), {
    script: [callTool('typed'), say('Done.')],
    timeline: ['agent calls typed {}', /^typed failed: Tool 'typed' has acted, but its result cannot be recorded/, 'agent: Done.'],
  }),
  scenario('a tool may give several blocks, as an error', agentWith([blocks]), {
    script: [callTool('blocks'), say('Done.')],
    timeline: ['agent calls blocks {}', 'blocks failed: no\nway', 'agent: Done.'],
  }),
  scenario('a call whose completion is lost runs again, with the same key', agentWith([acting]), {
    script: [callTool('acting'), say('Done.')],
    faults: [dropCompletion('acting')],
    timeline: ['agent calls acting {}', 'acting: had been done', 'agent: Done.'],
  }),
  scenario('a call that is lost in its last attempt is an error', agentWith([last]), {
    script: [callTool('last'), say('Done.')],
    faults: [dropCompletion('last')],
    timeline: ['agent calls last {}', /^last failed: .*its worker was lost \(1 attempt\)/, 'agent: Done.'],
  }),
  scenario('a call that runs again continues from its last heartbeat', agentWith([resuming]), {
    script: [callTool('resuming'), say('Done.')],
    faults: [dropCompletion('resuming', { step: 1 })],
    timeline: ['agent calls resuming {}', 'resuming: from {"page":7}', 'agent: Done.'],
  }),
  scenario('large arguments and deps go by reference', agentWith([large]), {
    deps: { notes: 'n'.repeat(2_000) },
    script: [callTool('large', { text: 'a'.repeat(3_000) }), say('Done.')],
    faults: [slowQueries(20)],
    timeline: [/^agent calls large/, 'large: 3000 and 2012', 'agent: Done.'],
  }),
];
