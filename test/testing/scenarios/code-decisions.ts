import { z } from 'zod';
import { askHuman, defineTool, quickjs, type AnyTool } from '../../../src/index.ts';
import type { ApprovalOption } from '../../../src/define/approvals.ts';
import { approve, cancelRun, reject, respond, sendMessage } from '../../../src/testing/index.ts';
import { cells } from './code-cells.ts';
import { agentWith, CELL, ran, scenario, toolThat } from './scenario.ts';

function refundTool(approval: ApprovalOption<{ amount: number }, Record<string, unknown>>): AnyTool {
  return defineTool({
    name: 'refund',
    description: 'Pays back',
    parameters: z.object({ amount: z.number() }),
    approval,
    execute: ({ amount }) => `refunded ${amount}`,
  });
}

const look = toolThat('look', () => 'seen');
const ask = askHuman({ name: 'ask', description: 'Asks the customer', answer: z.object({ wish: z.enum(['refund', 'exchange']) }) });
const executor = quickjs({ limits: { timeoutSeconds: 5 } });
const desk = agentWith([refundTool('always'), look, ask], { code: { executor, tier: 'local' } });
const far = agentWith([refundTool('always'), look, ask], { code: { executor, tier: 'remote' } });
const choosy = agentWith([refundTool(({ amount }) => amount > 100 && { reason: `${amount} is a lot` })], {
  code: { executor, tier: 'local' },
});

/** Calls of code that wait for people, and requests to a run while its code is open. */
export const CODE_DECISIONS = [
  scenario('an approved call of code runs', desk, {
    script: cells('print(refund(150))'),
    decide: () => approve({ by: 'ann' }),
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'ann approves refund',
      'refund: refunded 150',
      'run_code: refunded 150',
      'agent: done',
    ],
  }),
  scenario('an approved call of code in activities runs', far, {
    script: cells('const paid = refund(150)', 'print(paid)'),
    decide: () => approve({ by: 'ann' }),
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'ann approves refund',
      'refund: refunded 150',
      'run_code: (no output)',
      CELL,
      'run_code: refunded 150',
      'agent: done',
    ],
  }),
  scenario('a denied call of code throws the reason, which code catches', desk, {
    script: cells('try { refund(150) } catch (error) { print(error.message) } print(look())'),
    decide: () => reject('too much', { by: 'ann' }),
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'ann rejects refund: too much',
      'refund failed: User denied the tool execution. Reason: too much',
      ...ran('look {}', 'seen'),
      'run_code: User denied the tool execution. Reason: too much\nseen',
      'agent: done',
    ],
  }),
  scenario('an approved call of code runs with other arguments', desk, {
    script: cells('print(refund(150))'),
    decide: () => approve({ arguments: { amount: 50 }, by: 'ann' }),
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'ann approves refund',
      'refund: refunded 50',
      'note on refund: the approver changed its arguments before it ran: {"amount":50}',
      'run_code: refunded 50',
      'note on run_code: its call of "refund": the approver changed its arguments before it ran: {"amount":50}',
      'agent: done',
    ],
  }),
  scenario('a person answers a call of code in place of the tool', desk, {
    script: cells('print(refund(150).voucher + 1)'),
    decide: () => respond({ voucher: 42 }, { by: 'ann' }),
    timeline: [CELL, 'agent calls refund {"amount":150}', 'ann answers refund', 'refund: {"voucher":42}', 'run_code: 43', 'agent: done'],
  }),
  scenario('a predicate says which calls of code wait', choosy, {
    script: cells('for (const amount of [5, 150]) print(refund(amount))'),
    decide: ({ reason }) => (reason === '150 is a lot' ? approve({ by: 'ann' }) : undefined),
    timeline: [
      CELL,
      ...ran('refund {"amount":5}', 'refunded 5'),
      'agent calls refund {"amount":150}',
      'ann approves refund',
      'refund: refunded 150',
      'run_code: refunded 5\nrefunded 150',
      'agent: done',
    ],
  }),
  scenario('a person answers a question of code', desk, {
    script: cells("const { wish } = ask({ question: 'What would you like?' }); print(wish)"),
    decide: ({ kind }) => (kind === 'question' ? respond({ wish: 'refund' }, { by: 'eve' }) : undefined),
    timeline: [
      CELL,
      'agent calls ask {"question":"What would you like?"}',
      'eve answers ask',
      'ask: {"wish":"refund"}',
      'run_code: refund',
      'agent: done',
    ],
  }),
  scenario('other calls of a batch of code go ahead while one waits', far, {
    script: cells('print(await Promise.all([tools.refund(150), tools.look()]))'),
    decide: () => approve({ by: 'ann' }),
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'agent calls look {}',
      'look: seen',
      'ann approves refund',
      'refund: refunded 150',
      'run_code: ["refunded 150","seen"]',
      'agent: done',
    ],
  }),
  scenario('a run whose code waits is cancelled', desk, {
    script: cells('refund(150)').slice(0, 1),
    meanwhile: [cancelRun('not needed any more', { step: 1, waiting: 'refund' })],
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'refund failed: Tool call was interrupted and not executed. Please retry if needed.',
      'run_code failed: Tool call was running when the run was cancelled; its outcome is unknown.',
    ],
    status: 'cancelled',
  }),
  scenario('a message that steers ends code that waits', desk, {
    script: cells('try { refund(150) } catch { look() }'),
    meanwhile: [sendMessage('Never mind', { step: 1, waiting: 'refund', mode: 'steer' })],
    timeline: [
      CELL,
      'agent calls refund {"amount":150}',
      'refund failed: Tool call was interrupted and not executed. Please retry if needed.',
      'run_code failed: The code was ended before its end, because a message to the run arrived.',
      'user: Never mind',
      'agent: done',
    ],
  }),
  scenario('a message that steers ends code once its call has run', far, {
    script: cells('look(); look()', 'print(1)'),
    meanwhile: [sendMessage('Stop', { step: 1, tool: 'look', mode: 'steer' })],
    timeline: [
      CELL,
      ...ran('look {}', 'seen'),
      /^run_code failed: The code was ended before its end, because a message to the run arrived\.\s+Calls .* made, which are not undone: look\.$/,
      'user: Stop',
      CELL,
      'run_code: 1',
      'agent: done',
    ],
  }),
  scenario('a cancellation does not wait for a call of code', desk, {
    script: cells('look(); look()').slice(0, 1),
    meanwhile: [cancelRun('enough', { step: 1, tool: 'look' })],
    timeline: [
      CELL,
      'agent calls look {}',
      /^look failed: Tool call was running when the run was cancelled/,
      /^run_code failed: Tool call was running when the run was cancelled/,
    ],
    status: 'cancelled',
  }),
  scenario('a message is read after the cell', desk, {
    script: cells('print(look(), look())'),
    meanwhile: [sendMessage('Only this year', { step: 1 })],
    timeline: [CELL, ...ran('look {}', 'seen'), ...ran('look {}', 'seen'), 'run_code: seen seen', 'user: Only this year', 'agent: done'],
  }),
];
