import { describe, expect, test } from 'vitest';
import { answerAtPoint, type PointAnswer, type PointQuestion } from '../../../src/core/capabilities/hooks.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from './fake-session.ts';

const snapshot = testSnapshot({
  hooks: [
    { name: 'cards', on: 'input' },
    { name: 'style', on: 'output' },
  ],
});

const says =
  (content: string): SessionCaller =>
  ({ update }) =>
    update('send', { id: content.slice(0, 60), content });

/** Finds the number of a card in the newest message, and "yo" in an answer. */
function check({ state }: FakeSession, { point }: PointQuestion): PointAnswer {
  const isCard = point === 'input' && JSON.stringify(state.window.events.at(-1)).includes('4111');
  const isRude = point === 'output' && answerAtPoint(state) === 'yo';
  if (!isCard && !isRude) return { type: 'found', found: {} };
  const finding = { name: isCard ? 'cards' : 'style', type: point, outcome: 'tripped', message: isCard ? 'no cards' : 'not like this' };
  return { type: 'found', found: { hooks: { findings: [finding] } } };
}

/** A talk whose second message and third answer are denied. `read` has the messages that each model call was sent. */
async function talk(continues: boolean) {
  const asked: string[] = [];
  const read: string[] = [];
  const reads =
    (answer: string) =>
    ({ state }: FakeSession) => {
      const content = state.window.events.flatMap((event) => event.content);
      read.push(content.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : [])).join(', '));
      return said(answer);
    };
  const session = await runFakeSession({
    snapshot,
    continues,
    model: [reads('A'), reads('thanks for the card'), reads('yo'), reads('D')],
    callers: ['hello', 'my card: 4111', 'again', 'bye'].map(says),
    askAtPoint: (running, question) => {
      const answer = question.point === 'output' ? ` ${JSON.stringify(answerAtPoint(running.state))}` : '';
      asked.push(`${question.point}${answer} by ${question.names.join(' and ')}`);
      return check(running, question);
    },
  });
  return { session, asked, read };
}

describe.each([false, true])('a session with hooks for messages and answers (continues as new between turns: %s)', (continues) => {
  test('ends the turn whose message or answer is denied, and answers the next message', async () => {
    const { session } = await talk(continues);
    expect(session.executions > 1).toBe(continues);
    expect(session.events.flatMap(({ turn }) => (turn === undefined ? [] : [[turn.status, turn.stopReason, turn.error]]))).toEqual([
      ['completed', 'final_answer', undefined],
      ['error', 'guardrail', 'no cards'],
      ['error', 'guardrail', 'not like this'],
      ['completed', 'final_answer', undefined],
    ]);
  });

  test('asks about each message and each answer once', async () => {
    const { asked } = await talk(continues);
    expect(asked).toEqual([
      'input by cards',
      'output "A" by style',
      'input by cards',
      'input by cards',
      'output "yo" by style',
      'input by cards',
      'output "D" by style',
    ]);
  });

  test('keeps a denied message and the answer to it from the model', async () => {
    const { read, session } = await talk(continues);
    expect(read).toEqual(['hello', 'hello, my card: 4111', 'hello, again', 'hello, again, bye']);
    expect(JSON.stringify(session.state.window.events)).not.toContain('thanks for the card');
  });
});

test('a session checks the messages of a turn that was interrupted during their check before the next turn reads them', async () => {
  const session = await runFakeSession({
    snapshot,
    model: [{ type: 'cancelled' }, said('thanks for the card'), said('D')],
    callers: ['my card: 4111', 'again', 'bye'].map(says),
    askAtPoint: (running, question) => {
      if (question.point === 'output') return { type: 'found', found: {} };
      if (running.modelCalls === 0) {
        running.update('interrupt', {});
        return { type: 'cancelled' };
      }
      const unchecked = running.state.window.events.filter(({ offset }) => offset >= (question.from ?? 0));
      if (!JSON.stringify(unchecked).includes('4111')) return { type: 'found', found: {} };
      const finding = { name: 'cards', type: 'input', outcome: 'tripped', message: 'no cards' };
      return { type: 'found', found: { hooks: { findings: [finding] } } };
    },
  });
  expect(session.events.flatMap(({ turn }) => (turn === undefined ? [] : [[turn.status, turn.error]]))).toEqual([
    ['cancelled', undefined],
    ['error', 'no cards'],
    ['completed', undefined],
  ]);
  expect(JSON.stringify(session.state.window.events)).not.toContain('4111');
});

test('a session checks a message that an interrupted turn has left before it is compacted after some turns', async () => {
  const order: string[] = [];
  const session = await runFakeSession({
    snapshot: { ...snapshot, window: { maxTokens: 100_000, maxBytes: 100_000, keepResults: 2, summarize: true } },
    terms: { compactAfter: 1 },
    model: [said('A'), { type: 'cancelled' }, said('C')],
    callers: ['hello', `my card: ${'4111'.repeat(5_000)}`, 'again'].map(says),
    summarize: () => {
      order.push('summary');
      return { type: 'summary', id: 'summary', text: 'a talk', usage: null };
    },
    askAtPoint: (running, { point }) => {
      if (point === 'output') return { type: 'found', found: {} };
      order.push(`check in turn ${running.state.slices.session.turns}`);
      if (running.modelCalls !== 1) return { type: 'found', found: {} };
      running.update('interrupt', {});
      return { type: 'cancelled' };
    },
  });
  expect(session.events.flatMap(({ turn }) => turn?.status ?? [])).toEqual(['completed', 'cancelled', 'completed']);
  expect(order).toEqual(['check in turn 1', 'check in turn 2', 'check in turn 3', 'summary', 'check in turn 3']);
});

test('a turn that is interrupted during the check before a compaction ends as its receipt says, also if the message is denied', async () => {
  const receipts: unknown[] = [];
  const session = await runFakeSession({
    snapshot: { ...snapshot, window: { maxTokens: 100_000, maxBytes: 100_000, keepResults: 2, summarize: true } },
    terms: { compactAfter: 1 },
    model: [said('A'), { type: 'cancelled' }, said('D')],
    callers: ['hello', 'my card: 4111', 'again', 'bye'].map(says),
    askAtPoint: (running, question) => {
      const { turns } = running.state.slices.session;
      if (question.point === 'output' || turns === 1 || turns === 4) return { type: 'found', found: {} };
      receipts.push(running.update('interrupt', {}));
      if (turns === 2) return { type: 'cancelled' };
      const finding = { name: 'cards', type: 'input', outcome: 'tripped', message: 'no cards' };
      return { type: 'found', found: { hooks: { findings: [finding] } } };
    },
  });
  expect(receipts).toMatchObject([
    { interrupted: true, turn: 2 },
    { interrupted: true, turn: 3 },
  ]);
  expect(session.events.flatMap(({ turn }) => turn?.status ?? [])).toEqual(['completed', 'cancelled', 'cancelled', 'completed']);
});
