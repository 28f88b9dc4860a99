import { z } from 'zod';
import { askHuman, defineTool, quickjs, type AnyTool } from '../../../src/index.ts';
import type { ApprovalOption } from '../../../src/define/options/approval-options.ts';
import { approve, callTool, cancelRun, reject, respond, say, sendMessage, type ScriptEntry } from '../../../src/testing/index.ts';
import { agentWith, scenario, toolThat } from './scenario.ts';

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
const choosy = agentWith([refundTool(({ amount }) => amount > 100 && { reason: `${amount} is a lot` })], { code: { executor, tier: 'local' } });

/** Answers of the model that run the cells one after the other, and then end. */
function cells(...codes: readonly string[]): ScriptEntry[] {
  return [...codes.map((code, index) => callTool('run_code', { code }, `c${index + 1}`)), say('done')];
}

/** Calls of code that wait for people. */
export const CODE_DECISIONS = [
  scenario('an approved call of code runs', desk, {
    script: cells('print(refund(150))'),
    decide: () => approve({ by: 'ann' }),
    timeline: [],
  }),
  scenario('an approved call of code in activities runs', far, {
    script: cells('const paid = refund(150)', 'print(paid)'),
    decide: () => approve({ by: 'ann' }),
    timeline: [],
  }),
  scenario('a denied call of code throws the reason, which code catches', desk, {
    script: cells('try { refund(150) } catch (error) { print(error.message) } print(look())'),
    decide: () => reject('too much', { by: 'ann' }),
    timeline: [],
  }),
  scenario('an approved call of code runs with other arguments', desk, {
    script: cells('print(refund(150))'),
    decide: () => approve({ arguments: { amount: 50 }, by: 'ann' }),
    timeline: [],
  }),
  scenario('a person answers a call of code in place of the tool', desk, {
    script: cells('print(refund(150).voucher + 1)'),
    decide: () => respond({ voucher: 42 }, { by: 'ann' }),
    timeline: [],
  }),
  scenario('a predicate says which calls of code wait', choosy, {
    script: cells('for (const amount of [5, 150]) print(refund(amount))'),
    decide: ({ reason }) => (reason === '150 is a lot' ? approve({ by: 'ann' }) : undefined),
    timeline: [],
  }),
  scenario('a person answers a question of code', desk, {
    script: cells("const { wish } = ask({ question: 'What would you like?' }); print(wish)"),
    decide: ({ kind }) => (kind === 'question' ? respond({ wish: 'refund' }, { by: 'eve' }) : undefined),
    timeline: [],
  }),
  scenario('other calls of a batch of code go ahead while one waits', far, {
    script: cells('print(await Promise.all([tools.refund(150), tools.look()]))'),
    decide: () => approve({ by: 'ann' }),
    timeline: [],
  }),
  scenario('a run whose code waits is cancelled', desk, {
    script: cells('refund(150)').slice(0, 1),
    meanwhile: [cancelRun('not needed any more', { step: 1, waiting: 'refund' })],
    timeline: [],
    status: 'cancelled',
  }),
  scenario('a message that steers ends code that waits', desk, {
    script: cells('try { refund(150) } catch { look() }'),
    meanwhile: [sendMessage('Never mind', { step: 1, waiting: 'refund', mode: 'steer' })],
    timeline: [],
  }),
];
