import { defineHook } from '../../../src/index.ts';
import { but, call, type ChatDialect, type Ending, type Reply, say } from '../answer.ts';
import type { Conversation, Ran } from '../conversation.ts';

const DONE = 'Order 42 is on its way.';
const LOOK_UP: [string, object] = ['look_up', { order: 42 }];
const THREE: readonly Ran[] = [
  ['look_up', { order: 1 }],
  ['look_up', { order: 2 }],
  ['look_up', { order: 3 }],
];
const three = call(['look_up', { order: 1 }], ['look_up', { order: 2 }], ['look_up', { order: 3 }]);

/**
 * A row with three calls in the form of a dialect. Where a family makes that ambiguous, the answer is requested again, and comes in its
 * plain form: no call is lost, merged or doubled.
 */
function threeCalls(name: string, dialect: Partial<ChatDialect>): Conversation {
  return { name, apis: ['chat'], ...orAgain(but(three, { dialect }), three), expect: { ran: THREE, output: DONE } };
}

/** An answer that may be refused as ambiguous, and then comes in its plain form. */
function orAgain(odd: Reply, plain: Reply): Pick<Conversation, 'script' | 'always'> {
  return { script: [odd], always: ({ messages }) => (messages.some(({ role }) => role === 'tool') ? say(DONE) : plain) };
}

/** Arguments that are valid but not JSON, and their meaning. */
const ODD_TEXTS: Readonly<Record<string, readonly [text: string, meant: object]>> = {
  'with a comma behind the last value': ['{"order": 42, "amount": 1500,}', { order: 42, amount: 1500 }],
  'with single quotes': ["{'order': 42, 'to': 'ada'}", { order: 42, to: 'ada' }],
  'with literals of Python': ['{"order": 42, "urgent": True, "to": "ada"}', { order: 42, urgent: true, to: 'ada' }],
  'in a fence': ['```json\n{"order": 42}\n```', { order: 42 }],
  'as text in a text': [JSON.stringify('{"order": 42, "to": "ada"}'), { order: 42, to: 'ada' }],
  'with null for what is optional': ['{"order": 42, "to": null}', { order: 42 }],
};

/** Arguments that were cut off, by the kind of cut. The model gives the whole when it is called again. */
const CUT_TEXTS: Readonly<Record<string, string>> = {
  'in a number': '{"order":42,"amount":15',
  'behind a number': '{"order":42,"amount":1500',
  'in a text': '{"order":42,"to":"ada@exam',
  'in a list': '{"paths":["/srv/a","/srv/b',
  'behind a value of a list': '{"paths":["/srv/a","/srv/b"',
  'in a name': '{"order":42,"amount":1500,"to',
  'behind a name': '{"order":42,"amount":',
  'behind a comma': '{"order":42,',
  'in a literal': '{"order":42,"urgent":tr',
  'in an inner object': '{"items":[{"id":1},{"id":2',
  'at the beginning': '{',
  'in an escape': '{"note":"line\\',
};

const WHOLE: Ran = ['pay', { order: 42, amount: 1500, to: 'ada@example.com' }];

/** A call with arguments that were cut off never runs, whatever the finish reason says; the model is notified, and calls again. */
function cutCall(kind: string, text: string, at: string, ending: Ending): Conversation {
  const cut: Reply = { type: 'said', calls: [{ name: 'pay', arguments: text }], ending };
  const unfinished = typeof ending === 'object' ? ending.word : ending;
  return {
    name: `arguments cut ${kind}, ${at}`,
    ...(unfinished === 'none' || unfinished === 'stop' ? { apis: ['chat'] as const } : {}),
    script: [cut, call(WHOLE as [string, object]), say(DONE)],
    expect: { ran: [WHOLE] },
  };
}

const ENDINGS: readonly (readonly [name: string, ending: Ending])[] = [
  ['and the end of calls', 'calls'],
  ['and "stop"', 'stop'],
  ['and no finish reason', 'none'],
  ['and the limit of its length', 'length'],
];

export const CALLS: readonly Conversation[] = [
  { name: 'one tool', script: [call(LOOK_UP), say(DONE)], expect: { ran: [LOOK_UP] } },
  { name: 'three tools at once', script: [three, say(DONE)], expect: { ran: THREE } },
  {
    name: 'two rounds of tools',
    script: [call(LOOK_UP), call(['pay', { order: 42, amount: 5 }]), say(DONE)],
    expect: { ran: [LOOK_UP, ['pay', { order: 42, amount: 5 }]] },
  },
  {
    name: 'a text and a tool',
    script: [but(call(LOOK_UP), { text: 'I look it up.' }), say(DONE)],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'a tool that fails',
    script: [call(['break', { order: 7 }]), say('There is no order 7.')],
    expect: { ran: [['break', { order: 7 }]] },
  },
  { name: 'a tool that returns nothing', script: [call(['nothing', {}]), say(DONE)], expect: { ran: [['nothing', {}]] } },
  {
    name: 'a tool that returns an image',
    script: [call(['photo', { order: 42 }]), say('A parcel.')],
    expect: { ran: [['photo', { order: 42 }]] },
  },
  {
    name: 'images of two tools, then another tool',
    script: [call(['photo', { order: 1 }], ['photo', { order: 2 }]), call(LOOK_UP), say('Two parcels.')],
    expect: { ran: [['photo', { order: 1 }], ['photo', { order: 2 }], LOOK_UP] },
  },
  {
    name: 'a note of a hook on two results, then another tool',
    agent: { hooks: [defineHook({ name: 'gap', on: 'post_tool_use', match: 'look_up', run: () => ({ inject: 'Mind the gap.' }) })] },
    script: [call(LOOK_UP, ['look_up', { order: 43 }]), call(['pay', { order: 42, amount: 5 }]), say(DONE)],
    expect: {
      ran: [LOOK_UP, ['look_up', { order: 43 }], ['pay', { order: 42, amount: 5 }]],
      check: ({ exchanged }) =>
        exchanged.at(-1)?.request.json.split('Mind the gap.').length === 3 ? undefined : 'the model did not read both notes once',
    },
  },
  {
    name: 'an image and a note of a hook',
    agent: { hooks: [defineHook({ name: 'gap', on: 'post_tool_use', match: 'photo', run: () => ({ inject: 'Mind the gap.' }) })] },
    script: [call(['photo', { order: 42 }]), say('A parcel.')],
    expect: {
      ran: [['photo', { order: 42 }]],
      check: ({ exchanged }) => (exchanged.at(-1)?.request.json.includes('Mind the gap.') ? undefined : 'the model did not read the note'),
    },
  },
  { name: 'a tool that does not exist', script: [call(['search web!', { q: 'x' }]), call(LOOK_UP), say(DONE)], expect: { ran: [LOOK_UP] } },
  {
    name: 'a name of 200 characters',
    script: [call([`look_up_${'x'.repeat(192)}`, { order: 42 }]), call(LOOK_UP), say(DONE)],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'arguments that do not fit',
    script: [call(['look_up', { order: 'forty-two' }]), call(LOOK_UP), say(DONE)],
    expect: { ran: [LOOK_UP] },
  },
  { name: 'no arguments for a tool without parameters', script: [call(['nothing', '']), say(DONE)], expect: { ran: [['nothing', {}]] } },
  ...Object.entries(ODD_TEXTS).map(([kind, [text, meant]]): Conversation => ({
    name: `arguments ${kind}`,
    script: [call(['pay', text]), say(DONE)],
    expect: { ran: [['pay', meant]] },
  })),
  ...Object.entries(CUT_TEXTS).flatMap(([kind, text], n) => {
    // Each kind of token with each end would be many rows of the same: every kind has two of them, and every end three kinds.
    const first = ENDINGS[n % ENDINGS.length];
    const second = ENDINGS[(n + 1) % ENDINGS.length];
    return [first, second].flatMap((one) => (one === undefined ? [] : [cutCall(kind, text, ...one)]));
  }),
  {
    name: 'two calls with one id',
    ...orAgain(
      call(['look_up', { order: 1 }, 'same00001'], ['look_up', { order: 2 }, 'same00001']),
      call(['look_up', { order: 1 }], ['look_up', { order: 2 }]),
    ),
    expect: { ran: THREE.slice(0, 2), output: DONE },
  },
  {
    name: 'an id that the conversation has already',
    script: [call(['look_up', { order: 1 }, 'same00001']), call(['look_up', { order: 2 }, 'same00001']), say(DONE)],
    expect: { ran: THREE.slice(0, 2) },
  },
  {
    name: 'an id of 200 characters',
    script: [call(['look_up', { order: 42 }, `call_${'y'.repeat(195)}`]), say(DONE)],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'an id with other characters',
    script: [call(['look_up', { order: 42 }, 'look_up:0/ü ']), say(DONE)],
    expect: { ran: [LOOK_UP] },
  },
  threeCalls('calls without ids', { ids: 'absent' }),
  threeCalls('calls with empty ids', { ids: 'empty' }),
  threeCalls('ids and names in every piece', { ids: 'every piece' }),
  threeCalls('calls without numbers', { index: 'absent' }),
  threeCalls('calls that all have the number 0', { index: 'zero', arguments: 'whole' }),
  threeCalls('arguments in one piece', { arguments: 'whole' }),
  threeCalls('arguments as objects', { arguments: 'object' }),
  threeCalls('whole calls twice', { calls: 'repeated' }),
  threeCalls('{} in front of the arguments', { calls: 'empty object first' }),
  threeCalls('each call in a choice of its own', { calls: 'choices' }),
  threeCalls('the finish reason "stop"', { words: { stop: 'stop', calls: 'stop', length: 'length', filtered: 'content_filter' } }),
  threeCalls('a finish reason with every piece of calls', { finish: 'every piece', usage: 'every chunk' }),
  threeCalls('a finish reason before the last calls', { finish: 'early', usage: 'with the finish' }),
  threeCalls('calls in one object', { whole: true }),
  {
    name: 'the older field of a call',
    apis: ['chat'],
    script: [
      but(call(LOOK_UP), {
        dialect: { calls: 'function_call', words: { stop: 'stop', calls: 'function_call', length: 'length', filtered: 'content_filter' } },
      }),
      say(DONE),
    ],
    expect: { ran: [LOOK_UP] },
  },
  {
    name: 'text and calls behind the first finish reason',
    apis: ['chat'],
    script: [but(call(LOOK_UP), { text: 'I look it up now.', dialect: { finish: 'early', usage: 'with the finish' } }), say(DONE)],
    expect: { ran: [LOOK_UP] },
  },
];
