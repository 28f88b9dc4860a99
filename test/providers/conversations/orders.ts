import { but, call, say } from '../answer.ts';
import { type Conversation, HALF_CHARACTER } from '../conversation.ts';
import { cancelRun, sendMessage } from '../../../src/testing/index.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';

const ANSWER = 'Both are on their way.';
const LOOK_UP: [string, object] = ['look_up', { order: 42 }];
const SLOW: [string, object] = ['slow', { order: 42 }];

function message(role: 'system' | 'user' | 'assistant', content: string): ContentItem {
  return { type: 'message', role, content };
}

/** A row that begins with an earlier conversation. */
function after(name: string, messages: readonly ContentItem[]): Conversation {
  return { name, messages, script: [call(LOOK_UP), say(ANSWER)], expect: { ran: [LOOK_UP] } };
}

/** Orders of messages: those that callers send, and those that come in the middle. */
export const ORDERS: readonly Conversation[] = [
  after('two messages of the user in a row', [message('user', 'Good morning.')]),
  after('a greeting of the assistant first', [message('assistant', 'Good morning, how can I help?')]),
  after('two messages of the assistant in a row', [
    message('user', 'Good morning.'),
    message('assistant', 'Good morning.'),
    message('assistant', 'How can I help?'),
  ]),
  after('a system message in the earlier conversation', [
    message('user', 'Good morning.'),
    message('assistant', 'How can I help?'),
    message('system', 'The customer has a contract.'),
  ]),
  after('a system message before the earlier conversation', [message('system', 'Answer in Norwegian.')]),
  after('an empty message of the assistant', [message('user', 'Good morning.'), message('assistant', '')]),
  after('an empty message of the user', [message('user', ''), message('assistant', 'How can I help?')]),
  after('blanks of the user and of the assistant', [message('user', '  \n'), message('assistant', ' ')]),
  after('calls of another provider in the earlier conversation', [
    message('user', 'Where is order 41?'),
    { type: 'tool_call', toolCallId: 'call_9pw1DAVdEuvj0qBMJPcCRZWq', name: 'look_up', arguments: { order: 41 } },
    {
      type: 'tool_result',
      toolCallId: 'call_9pw1DAVdEuvj0qBMJPcCRZWq',
      name: 'look_up',
      status: 'success',
      content: ['Order 41 has arrived.'],
    },
    message('assistant', 'It has arrived.'),
  ]),
  after('a call without a result in the earlier conversation', [
    message('user', 'Where is order 41?'),
    { type: 'tool_call', toolCallId: 'call_9pw1DAVdEuvj0qBMJPcCRZWq', name: 'look_up', arguments: { order: 41 } },
  ]),
  {
    name: 'a message in the queue while a tool runs',
    meanwhile: [sendMessage('And order 43?', { step: 1, tool: 'slow' })],
    script: [call(SLOW), say(ANSWER)],
    expect: { ran: [SLOW] },
  },
  {
    name: 'a message that steers while tools run',
    meanwhile: [sendMessage('And order 43?', { step: 1, tool: 'slow', mode: 'steer' })],
    script: [call(SLOW, LOOK_UP), call(['look_up', { order: 43 }]), say(ANSWER)],
    expect: {
      // Calls that have not begun are given up.
      anyRan: true,
      check: ({ ran }) =>
        ran.some(([name, args]) => name === 'look_up' && 'order' in args && args.order === 43) ? undefined : 'order 43 was not looked up',
    },
  },
  {
    name: 'a message behind an image of a tool',
    meanwhile: [sendMessage('And the other one?', { step: 1, tool: 'photo' })],
    script: [call(['photo', { order: 42 }]), say('Two parcels.')],
    expect: { ran: [['photo', { order: 42 }]] },
  },
  {
    name: 'a message that interrupts the answer',
    meanwhile: [sendMessage('And order 43?', { step: 1, mode: 'interrupt' })],
    script: [],
    always: ({ json }) => (json.includes('And order 43?') ? say(ANSWER) : say('I look for order 42, and write at length.', { cutAt: 0.5 })),
    expect: { output: ANSWER, usedUp: false },
  },
  {
    name: 'two messages at once',
    meanwhile: [sendMessage('And order 43?', { step: 1, tool: 'slow' }), sendMessage('And order 44?', { step: 1, tool: 'slow' })],
    script: [call(SLOW), say(ANSWER)],
    expect: { ran: [SLOW] },
  },
  {
    name: 'a run that is cancelled during the answer',
    meanwhile: [cancelRun('no longer needed', { step: 1 })],
    script: [say(ANSWER)],
    expect: { status: 'cancelled', usedUp: false },
  },
  {
    name: 'a run that is cancelled while a tool runs',
    meanwhile: [cancelRun('no longer needed', { step: 1, tool: 'slow' })],
    script: [call(SLOW)],
    expect: { status: 'cancelled', ran: [SLOW] },
  },
  {
    name: 'half of a character in the question',
    input: `Where is it? ${HALF_CHARACTER}`,
    script: [call(LOOK_UP), say(ANSWER)],
    expect: { ran: [LOOK_UP] },
  },
  { name: 'half of a character in a result', script: [call(['half', {}]), say(ANSWER)], expect: { ran: [['half', {}]] } },
  {
    name: 'half of a character in arguments',
    script: [call(['echo', '{"text":"cut \\ud83d"}']), say(ANSWER)],
    expect: { anyRan: true, check: ({ ran }) => (ran.length === 1 ? undefined : `"echo" ran ${ran.length} times`) },
  },
  {
    name: 'an image of the user',
    input: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', url: 'https://images.example/parcel.png' },
    ],
    script: [but(call(LOOK_UP), { text: 'A parcel.' }), say(ANSWER)],
    expect: { ran: [LOOK_UP] },
  },
];
