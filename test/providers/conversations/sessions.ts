import { call, fail, say } from '../answer.ts';
import type { Conversation, Expectation, Stage } from '../conversation.ts';
import type { SessionAct } from '../session-in-memory.ts';

const LOOK_UP: [string, object] = ['look_up', { order: 42 }];
const SECOND: [string, object] = ['look_up', { order: 43 }];
const FIRST_ANSWER = 'Order 42 is on its way.';
const SECOND_ANSWER = 'Order 43 has arrived.';
const BOTH = [call(LOOK_UP), say(FIRST_ANSWER), call(SECOND), say(SECOND_ANSWER)];

const says = (text: string): SessionAct => ({ type: 'says', text });
const FIRST = says('Where is order 42?');
const NEXT = says('And order 43?');

/** A row of two turns with calls, between which something changes. */
function between(name: string, change: (stage: Stage) => SessionAct, more: Partial<Expectation> = {}): Conversation {
  return {
    name: `a session: ${name}`,
    session: (stage) => [FIRST, change(stage), NEXT],
    script: BOTH,
    expect: { ran: [LOOK_UP, SECOND], turns: [FIRST_ANSWER, SECOND_ANSWER], ...more },
  };
}

/** A row whose first turn ends without an answer, and whose second one must not suffer from it. */
function afterFailure(name: string, script: Conversation['script'], more: Partial<Conversation> = {}): Conversation {
  return {
    name: `a session: ${name}`,
    session: () => [FIRST, NEXT],
    script,
    ...more,
    expect: { ran: [LOOK_UP, SECOND], turns: ['error', SECOND_ANSWER], ...more.expect },
  };
}

const SLOW: [string, object] = ['slow', { order: 42 }];

const ODD = { status: 400, body: { error: { message: 'Something in the request is odd.', type: 'invalid_request_error' } } };

/** Conversations of several turns: the provider must accept in each turn what earlier turns have added. */
export const SESSIONS: readonly Conversation[] = [
  {
    name: 'a session: three turns',
    session: () => [FIRST, NEXT, says('Thank you.')],
    script: [...BOTH, say('You are welcome.')],
    expect: { ran: [LOOK_UP, SECOND], turns: [FIRST_ANSWER, SECOND_ANSWER, 'You are welcome.'] },
  },
  between(
    'the next turn has another model',
    ({ agent, family }) => ({
      type: 'deploys',
      agent: agent({ model: `openai/${family.otherModel}` }),
    }),
    { models: 2 },
  ),
  between('the next turn has other instructions', ({ agent }) => ({
    type: 'deploys',
    agent: agent({ instructions: ['You are a clerk.', 'Be brief.'] }),
  })),
  between('the next turn has the key of another account', (stage) => ({ type: 'does', act: () => (stage.key += '-too') })),
  between('the provider has forgotten what it has sent', ({ provider }) => ({ type: 'does', act: () => provider.forget() }), {
    refusals: 1,
  }),
  {
    name: 'a session: a turn that is interrupted while a tool runs',
    session: () => [FIRST, NEXT],
    whileSlow: ({ session }) => session?.interrupt(),
    script: [call(SLOW), call(SECOND), say(SECOND_ANSWER)],
    expect: { ran: [SLOW, SECOND], turns: ['cancelled', SECOND_ANSWER] },
  },
  {
    name: 'a session: a message while a tool runs',
    session: () => [FIRST, NEXT],
    whileSlow: ({ session }) => session?.send('It is urgent.', 'steer'),
    script: [call(SLOW), say(FIRST_ANSWER), call(SECOND), say(SECOND_ANSWER)],
    expect: { ran: [SLOW, SECOND], turns: [FIRST_ANSWER, SECOND_ANSWER] },
  },
  {
    name: 'a session: an image in the first turn',
    session: () => [FIRST, NEXT],
    script: [call(['photo', { order: 42 }]), say(FIRST_ANSWER), call(SECOND), say(SECOND_ANSWER)],
    expect: { ran: [['photo', { order: 42 }], SECOND], turns: [FIRST_ANSWER, SECOND_ANSWER] },
  },
  afterFailure('a turn that fails behind its calls', [call(LOOK_UP), fail('out of quota'), call(SECOND), say(SECOND_ANSWER)]),
  afterFailure('a turn of empty answers', [call(LOOK_UP), { type: 'said' }, { type: 'said' }, call(SECOND), say(SECOND_ANSWER)], {
    agent: { modelMaxAttempts: 2 },
  }),
  afterFailure('a turn whose request is refused for a reason that nobody knows', [call(LOOK_UP)], {
    always: ({ json }) => {
      if (!json.includes('And order 43?')) return { type: 'status', failure: ODD };
      return json.includes('Order 43 is on its way.') ? say(SECOND_ANSWER) : call(SECOND);
    },
    expect: { says: () => 'Something in the request is odd.' },
  }),
];
