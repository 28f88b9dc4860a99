import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { waiting } from '../pending-approvals.ts';
import { fakeChat, type FakeAnswers, type FakeChat, Later, never, until } from './fake-chat.ts';

const taken = { send: () => Promise.resolve({ turn: 2 }) } satisfies FakeAnswers;
const COME_BACK = 'To come back: npx longhaul chat clerk --session talk-1';

/** Presses Ctrl-C twice, and expects that the person is out of the chat. */
async function leaves({ lines, kept, exitCode }: FakeChat): Promise<void> {
  lines.press();
  await until(() => kept.stderr().includes('Interrupting the turn. Ctrl-C again leaves.'));
  lines.press();
  expect(await exitCode).toBe(0);
  expect(kept.stderr()).toContain(COME_BACK);
}

test('a second Ctrl-C leaves while no worker takes the message', async () => {
  const chat = fakeChat({});
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  await leaves(chat);
  expect(chat.kept.stderr()).toContain('The session may have taken the message');
  expect(chat.requests.map(([name]) => name)).toEqual(['send']);
});

test('a Ctrl-C before the message is taken interrupts the turn that answers it', async () => {
  const send = new Later<object>();
  const chat = fakeChat({ send: () => send.answer });
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  chat.lines.press();
  send.resolve({ turn: 4 });
  await until(() => chat.requests.some(([name]) => name === 'interrupt'));
  expect(chat.requests.find(([name]) => name === 'interrupt')).toMatchObject(['interrupt', { turn: 4 }]);
});

test('a turn that ends before it has read the message is followed by the next one, which a Ctrl-C interrupts', async () => {
  const event = (turn: object) => ({
    id: 'e',
    executionId: 'talk-1',
    timestamp: '1970-01-01T00:00:00.000Z',
    author: 'clerk',
    content: [],
    turn,
  });
  async function* events(): AsyncGenerator<unknown> {
    yield event({ number: 2, status: 'cancelled', stopReason: 'cancelled', unanswered: ['m1'] });
    await never();
  }
  const chat = fakeChat({ send: () => Promise.resolve({ turn: 2, id: 'm1' }) }, { events });
  await chat.lines.enter('hello');
  await until(() => chat.kept.stdout().includes('cancelled') || chat.kept.stderr().includes('cancelled'));
  chat.lines.press();
  await until(() => chat.requests.some(([name]) => name === 'interrupt'));
  expect(chat.requests.find(([name]) => name === 'interrupt')).toMatchObject(['interrupt', { turn: 3 }]);
});

test('a second Ctrl-C leaves while the interruption has no answer', async () => {
  const chat = fakeChat({ ...taken, approvals: () => Promise.resolve({ status: 'running', pending: [] }) });
  await chat.lines.enter('hello');
  await until(() => chat.requests.some(([name]) => name === 'send'));
  await new Promise((resolve) => setTimeout(resolve, 5));
  await leaves(chat);
  expect(chat.kept.stderr()).toContain('The session has not answered the interruption: the turn may continue.');
});

test('two Ctrl-C at once leave', async () => {
  const chat = fakeChat(taken);
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  chat.lines.press();
  chat.lines.press();
  expect(await chat.exitCode).toBe(0);
});

test('a Ctrl-C at the question about a call interrupts the turn without further questions, and a second one leaves', async () => {
  const approvals = (): Promise<object> =>
    Promise.resolve({ status: 'pending_confirmation', pending: [waiting(), waiting({ key: 'other' })] });
  const chat = fakeChat({ ...taken, approvals, interrupt: () => Promise.resolve({ interrupted: true }) });
  await chat.lines.enter('pay me');
  await until(() => chat.lines.prompts.length > 1);
  await leaves(chat);
  expect(chat.lines.prompts).toHaveLength(2);
  expect(chat.requests.map(([name]) => name)).not.toContain('approve');
});

test('a Ctrl-C while a decision has no answer interrupts the turn, and a second one leaves', async () => {
  const chat = fakeChat({ ...taken, approvals: () => Promise.resolve({ status: 'pending_confirmation', pending: [waiting()] }) });
  await chat.lines.enter('pay me');
  await until(() => chat.lines.prompts.length > 1);
  await chat.lines.enter('y');
  await until(() => chat.requests.some(([name]) => name === 'approve'));
  await leaves(chat);
  expect(chat.requests.map(([name]) => name)).toContain('interrupt');
});

test('an interruption that comes before the turn has begun is repeated until the turn is interrupted', async () => {
  const answers = [false, false, true].map((interrupted) => ({ interrupted }));
  const chat = fakeChat({ ...taken, interrupt: () => Promise.resolve(answers.shift()) });
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  chat.lines.press();
  await until(() => answers.length === 0);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(chat.requests.filter(([name]) => name === 'interrupt')).toHaveLength(3);
});

test('without a server the failed interruption is reported, and a second Ctrl-C leaves', async () => {
  const chat = fakeChat({ ...taken, interrupt: () => Promise.reject(new LonghaulError('server_unreachable', 'no server')) });
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  chat.lines.press();
  await until(() => chat.kept.stderr().includes('no server'));
  chat.lines.press();
  expect(await chat.exitCode).toBe(0);
});

test('Ctrl-C leaves at once while there is no turn: at the prompt, while the status is read, and while the conversation is', async () => {
  const asked = fakeChat({});
  await asked.lines.prompted();
  asked.lines.press();
  expect(await asked.exitCode).toBe(0);
  expect(asked.kept.stderr()).toContain('The session has not begun: there was no message.');

  const status = fakeChat({});
  await status.lines.enter('/status');
  await until(() => status.requests.length > 0);
  status.lines.press();
  expect(await status.exitCode).toBe(0);

  const session = { turns: 1, spent: {}, limits: {} };
  const begun = fakeChat({ send: never }, { status: { events: 3, session } });
  await begun.lines.prompted();
  begun.lines.press('end');
  expect(await begun.exitCode).toBe(0);
  expect(begun.kept.stderr()).toContain(COME_BACK);
});

test('the end of the input leaves while a turn is in progress', async () => {
  const chat = fakeChat(taken);
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  chat.lines.press('end');
  expect(await chat.exitCode).toBe(0);
});

test('the refusal of a message after the person has left is not reported', async () => {
  const send = new Later<object>();
  const chat = fakeChat({ send: () => send.answer });
  await chat.lines.enter('hello');
  await until(() => chat.requests.length > 0);
  await leaves(chat);
  send.reject(new LonghaulError('server_unreachable', 'the client is closed'));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(chat.kept.stderr()).not.toContain('the client is closed');
});
