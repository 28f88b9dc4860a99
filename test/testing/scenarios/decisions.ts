import { z } from 'zod';
import { askHuman, defineTool, type AnyTool } from '../../../src/index.ts';
import type { ApprovalOption } from '../../../src/define/approvals.ts';
import { approve, callTool, cancelRun, delay, reject, respond, say, sendMessage, together } from '../../../src/testing/index.ts';
import { agentWith, ledgerIn, scenario, toolThat } from './scenario.ts';

type Arguments = { amount: number; note?: string | undefined };

function refundTool(approval: ApprovalOption<Arguments, Record<string, unknown>>): AnyTool {
  return defineTool({
    name: 'refund',
    description: 'Pays back',
    parameters: z.object({ amount: z.number(), note: z.string().optional() }),
    approval,
    execute: ({ amount, note }) => `refunded ${amount}${note === undefined ? '' : ` (${note.length})`}`,
  });
}

const refund = refundTool('always');
const large = refundTool(({ amount }) => amount > 100 && { reason: `${amount} is a lot` });
const soon = refundTool({ deadline: 150 });
const anyway = refundTool({ deadline: 150, onDeadline: 'approve' });
const look = toolThat('look', () => 'seen');
const flaky = toolThat(
  'flaky',
  (_, { retry }) => {
    if (retry === 0) throw new Error('not yet');
    return 'found';
  },
  { backoff: { initial: '1s' }, maxAttempts: 2 },
);
const ask = askHuman({ name: 'ask', description: 'Asks the customer', answer: z.object({ wish: z.enum(['refund', 'exchange']) }) });
const call = callTool('refund', { amount: 150 });
const calls = 'agent calls refund {"amount":150}';

/** The note to the model about other arguments. */
function changed(args: string): string {
  return `note on refund: the approver changed its arguments before it ran: ${args}`;
}

/** Pending approvals, and their consequences. */
export const DECISIONS = [
  scenario('an approved call runs', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [calls, 'ann approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('a rejected call gives the model the reason', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: () => reject('too much', { by: 'ann' }),
    timeline: [calls, 'ann rejects refund: too much', 'refund failed: User denied the tool execution. Reason: too much', 'agent: Done.'],
  }),
  scenario('an approved call runs with other arguments', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: () => approve({ arguments: { amount: 50 }, by: 'ann' }),
    timeline: [calls, 'ann approves refund', 'refund: refunded 50', changed('{"amount":50}'), 'agent: Done.'],
  }),
  scenario('the same arguments, sent back by the approver, are no news for the model', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: () => approve({ arguments: { amount: 150 }, by: 'ann' }),
    timeline: [calls, 'ann approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('other arguments that are large reach the tool', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: () => approve({ arguments: { amount: 50, note: 'n'.repeat(2_000) }, by: 'ann' }),
    timeline: [
      calls,
      'ann approves refund',
      'refund: refunded 50 (2000)',
      changed(JSON.stringify({ amount: 50, note: 'n'.repeat(2_000) })),
      'agent: Done.',
    ],
  }),
  scenario('a decision with arguments that do not fit is refused, and can be made again', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: ({ refused }) => approve({ arguments: { amount: refused === undefined ? 'much' : 5 }, by: 'ann' }),
    timeline: [calls, 'ann approves refund', 'refund: refunded 5', changed('{"amount":5}'), 'agent: Done.'],
  }),
  scenario('a person answers a call in place of the tool', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: () => respond({ voucher: 42 }, { by: 'ann' }),
    timeline: [calls, 'ann answers refund', 'refund: {"voucher":42}', 'agent: Done.'],
  }),
  scenario('a decision holds for further calls of the tool', agentWith([refund]), {
    script: [call, callTool('refund', { amount: 7 }), say('Done.')],
    decide: ({ arguments: { amount } }) => (amount === 150 ? approve({ remember: 'tool', by: 'ann' }) : undefined),
    timeline: [calls, 'ann approves refund', 'refund: refunded 150', /calls/, 'ann approves refund', 'refund: refunded 7', 'agent: Done.'],
  }),
  scenario('a decision holds for further calls with the same arguments', agentWith([refund]), {
    script: [call, together(call, callTool('refund', { amount: 7 })), say('Done.')],
    decide: ({ arguments: { amount } }) => (amount === 150 ? approve({ remember: 'arguments', by: 'ann' }) : reject('no', { by: 'bob' })),
    timeline: [
      calls,
      'ann approves refund',
      'refund: refunded 150',
      calls,
      'agent calls refund {"amount":7}',
      'ann approves refund',
      'refund: refunded 150',
      'bob rejects refund: no',
      /^refund failed/,
      'agent: Done.',
    ],
  }),
  scenario('an undecided call is rejected at its deadline', agentWith([soon]), {
    script: [call, say('Done.')],
    timeline: [calls, 'the deadline rejects refund: nobody decided before the deadline', /^refund failed: User denied/, 'agent: Done.'],
  }),
  scenario('an undecided call is approved at its deadline if the tool says so', agentWith([anyway]), {
    script: [call, say('Done.')],
    timeline: [calls, 'the deadline approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('a predicate says which calls wait, and why', agentWith([large]), {
    script: [together(callTool('refund', { amount: 5 }), call), say('Done.')],
    decide: ({ reason }) => (reason === '150 is a lot' ? approve({ by: 'ann' }) : undefined),
    timeline: [/"amount":5/, calls, 'refund: refunded 5', 'ann approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('other calls go ahead while one waits', agentWith([refund, look]), {
    script: [together(call, callTool('look'), call), say('Done.')],
    faults: [delay('look', 80)],
    decide: () => approve({ by: 'ann' }),
    timeline: [
      calls,
      'agent calls look {}',
      calls,
      'look: seen',
      'ann approves refund',
      'refund: refunded 150',
      'ann approves refund',
      'refund: refunded 150',
      'agent: Done.',
    ],
  }),
  scenario('a decision is made once a call next to it has ended, with all of its attempts', agentWith([refund, flaky]), {
    script: [together(call, callTool('flaky')), say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [calls, 'agent calls flaky {}', 'flaky: found', 'ann approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('a decision of a wrong form is refused, and can be made again', agentWith([refund]), {
    script: [call, say('Done.')],
    decide: ({ refused }) => {
      if (refused === undefined) return reject('no'.repeat(5_000));
      return refused.message.startsWith('The decision on call "call_1_1" was not sent: reason: expected at most') ? approve() : undefined;
    },
    timeline: [calls, 'somebody who gave no name approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('an unauthorized decision is refused, and an authorized one is accepted', agentWith([refund]), {
    script: [call, say('Done.')],
    authorize: ({ by }) => (by === 'ann' ? { as: 'Ann of accounts' } : { refuse: 'only Ann may' }),
    decide: ({ refused }) => approve({ by: refused === undefined ? 'bob' : 'ann' }),
    timeline: [
      calls,
      'approve of bob is refused: Not authorized to decide call "call_1_1": only Ann may',
      'Ann of accounts approves refund',
      'refund: refunded 150',
      'agent: Done.',
    ],
  }),
  scenario('the notify hook is called for a pending call', agentWith([refund]), {
    script: [call, say('Done.')],
    notify: ({ toolName }, { resources }) => {
      (resources as { ledger: { act(key: string, what: string): boolean } }).ledger.act(toolName, 'told');
    },
    decide: () => approve({ by: 'ann' }),
    timeline: [calls, 'ann approves refund', 'refund: refunded 150', 'agent: Done.'],
  }),
  scenario('the notifyEnded hook is called for a cancelled run', agentWith([refund]), {
    script: [call],
    notifyEnded: ({ status, result }, { resources }) => {
      ledgerIn(resources).act('end', `${status}: ${result.cancelReason}`);
    },
    meanwhile: [cancelRun('not needed any more', { step: 1, waiting: 'refund' })],
    timeline: [calls, /^refund failed: Tool call was interrupted/],
    status: 'cancelled',
  }),
  scenario('a person answers a question', agentWith([ask]), {
    script: [callTool('ask', { question: 'What would you like?' }), say('Done.')],
    decide: ({ kind, answer }) => (kind === 'question' && answer !== undefined ? respond({ wish: 'refund' }, { by: 'eve' }) : undefined),
    timeline: ['agent calls ask {"question":"What would you like?"}', 'eve answers ask', 'ask: {"wish":"refund"}', 'agent: Done.'],
  }),
  scenario('a message that steers gives up a call that waits', agentWith([refund]), {
    script: [call, say('Done.')],
    meanwhile: [sendMessage('Never mind', { step: 1, waiting: 'refund', mode: 'steer' })],
    timeline: [calls, /^refund failed: Tool call was interrupted/, 'user: Never mind', 'agent: Done.'],
  }),
  scenario('a run that waits can be cancelled', agentWith([refund]), {
    script: [call],
    meanwhile: [cancelRun('not needed any more', { step: 1, waiting: 'refund' })],
    timeline: [calls, /^refund failed: Tool call was interrupted/],
    status: 'cancelled',
  }),
];
