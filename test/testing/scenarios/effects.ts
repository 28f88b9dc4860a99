import { approve, callTool, delay, dropCompletion, killWorker, reject, respond, say, together } from '../../../src/testing/index.ts';
import { act, agentWith, ledgerIn, QUICK, scenario, toolThat } from './scenario.ts';

const pay = toolThat('pay', (_, context) => (act(context, 'pay') ? 'paid' : 'paid twice'), { effect: 'once' });
const breaking = toolThat(
  'breaking',
  () => {
    throw new Error('the card is refused');
  },
  { effect: 'once' },
);
const checked = toolThat('checked', (_, context) => (act(context, 'pay') ? 'paid' : 'paid twice'), {
  effect: 'once',
  verify: (key, { resources }) => {
    const hasActed = ledgerIn(resources).acts.some((one) => one.idempotencyKey === key);
    return hasActed ? { happened: true, result: 'paid, as the bank says' } : { happened: false };
  },
});
const forgotten = toolThat('forgotten', () => 'paid', { effect: 'once', verify: () => ({ happened: false }) });
const unverifiable = toolThat('unverifiable', () => 'paid', {
  effect: 'once',
  verify: () => {
    throw new Error('the bank does not answer');
  },
  ...QUICK,
});
const look = toolThat('look', (_, context) => (act(context, 'look') ? 'seen' : 'seen again'));
const quick = toolThat('quick', ({ text }) => `quick${text ?? ''}`, { tier: 'local' });
const limping = toolThat(
  'limping',
  (_, { retry, heartbeat, lastHeartbeat }) => {
    heartbeat({ page: 7 });
    if (retry < 1) throw new Error('not yet');
    return `worked at retry ${retry}, after ${lastHeartbeat === undefined ? 'no heartbeat' : 'a heartbeat'}`;
  },
  { tier: 'local' },
);
const lame = toolThat(
  'lame',
  () => {
    throw new Error('never');
  },
  { tier: 'local', maxAttempts: 2 },
);
const unknown = /failed: The outcome of this call of '\w+' is unknown/;

/** Calls with effect `once`, calls inside the workflow task, and workers that die. */
export const EFFECTS = [
  scenario('a call with effect `once` that fails is not retried', agentWith([breaking]), {
    script: [callTool('breaking'), say('Done.')],
    timeline: ['agent calls breaking {}', 'breaking failed: the card is refused', 'agent: Done.'],
  }),
  scenario('a lost call with effect `once` has an unknown outcome', agentWith([pay]), {
    script: [callTool('pay'), say('Done.')],
    faults: [dropCompletion('pay')],
    timeline: ['agent calls pay {}', unknown, 'agent: Done.'],
  }),
  scenario('a tool that can be asked says that a lost call has happened', agentWith([checked]), {
    script: [callTool('checked'), say('Done.')],
    faults: [dropCompletion('checked')],
    timeline: ['agent calls checked {}', 'checked: paid, as the bank says', 'agent: Done.'],
  }),
  scenario('a tool that can be asked says that a lost call has not happened', agentWith([forgotten]), {
    script: [callTool('forgotten'), say('Done.')],
    faults: [dropCompletion('forgotten')],
    timeline: ['agent calls forgotten {}', /^forgotten failed: This call of 'forgotten' did not happen/, 'agent: Done.'],
  }),
  scenario('if the tool cannot verify the outcome, it is unknown', agentWith([unverifiable]), {
    script: [callTool('unverifiable'), say('Done.')],
    faults: [dropCompletion('unverifiable')],
    timeline: ['agent calls unverifiable {}', unknown, 'agent: Done.'],
  }),
  scenario('a person gives the result of a lost call', agentWith([pay], { onUnknownOutcome: 'ask' }), {
    script: [callTool('pay'), say('Done.')],
    faults: [dropCompletion('pay')],
    decide: ({ kind }) => (kind === 'outcome' ? respond('paid after all', { by: 'ann' }) : undefined),
    timeline: ['agent calls pay {}', 'ann answers pay', 'pay: paid after all', 'agent: Done.'],
  }),
  scenario('a person answers that the outcome of a lost call is unknown', agentWith([pay, look], { onUnknownOutcome: 'ask' }), {
    script: [together(callTool('pay'), callTool('look')), say('Done.')],
    faults: [dropCompletion('pay')],
    decide: ({ refused }) => (refused === undefined ? approve() : reject('the bank is closed', { by: 'ann' })),
    timeline: [/calls pay/, /calls look/, 'look: seen', 'ann rejects pay: the bank is closed', unknown, 'agent: Done.'],
  }),

  scenario('a local tool', agentWith([quick]), {
    script: [callTool('quick', { text: ' as a flash' }), say('Done.')],
    timeline: [/^agent calls quick/, 'quick: quick as a flash', 'agent: Done.'],
  }),
  scenario('a local tool is retried, and has no heartbeats', agentWith([limping, lame]), {
    script: [together(callTool('limping'), callTool('lame')), say('Done.')],
    timeline: [
      /calls limping/,
      /calls lame/,
      'limping: worked at retry 1, after no heartbeat',
      'lame failed: never (2 attempts)',
      'agent: Done.',
    ],
  }),
  scenario('a local tool next to a remote one', agentWith([quick, look]), {
    script: [together(callTool('look'), callTool('quick')), say('Done.')],
    faults: [delay('look', 30)],
    timeline: [/calls look/, /calls quick/, 'look: seen', 'quick: quick', 'agent: Done.'],
  }),

  scenario('a worker that dies between two steps costs nothing', agentWith([look]), {
    script: [callTool('look'), say('Done.')],
    faults: [killWorker({ afterStep: 1 })],
    timeline: ['agent calls look {}', 'look: seen', 'agent: Done.'],
  }),
  scenario('a worker that dies in the middle of a tool lets another run it again', agentWith([look]), {
    script: [callTool('look'), say('Done.')],
    faults: [killWorker({ tool: 'look' })],
    timeline: ['agent calls look {}', 'look: seen again', 'agent: Done.'],
  }),
];
