import { say } from '../answer.ts';
import type { Conversation } from '../conversation.ts';

const ANSWER = 'Order 42 is on its way.';
const LONG = 'Grüße aus 東京: die Bestellung 42 ist 🚚 unterwegs, naïve façade — “quoted”.';

/** Answers without calls: complete ones in every form, and unusable ones. */
export const ANSWERS: readonly Conversation[] = [
  { name: 'a plain answer', script: [say(ANSWER)], expect: {} },
  { name: 'an answer in many characters of several bytes', script: [say(LONG)], expect: {} },
  { name: 'an answer behind reasoning', script: [say(ANSWER, { reasoning: 'The customer asks for an order.' })], expect: {} },
  { name: 'an answer without usage', script: [say(ANSWER, { dialect: { usage: 'absent' } })], expect: {} },
  { name: 'usage in every chunk', script: [say(ANSWER, { dialect: { usage: 'every chunk' } })], expect: {} },
  {
    name: 'a finish reason with every piece',
    script: [say(ANSWER, { dialect: { finish: 'every piece', usage: 'every chunk' } })],
    expect: {},
  },
  {
    name: 'a finish reason before the second half',
    script: [say(ANSWER, { dialect: { finish: 'early', usage: 'with the finish' } })],
    expect: {},
  },
  {
    name: 'no finish reason, but the end of the stream',
    apis: ['chat'],
    script: [say(ANSWER, { ending: 'none', dialect: { done: true } })],
    expect: {},
  },
  {
    name: 'a finish reason without the end of the stream',
    apis: ['chat'],
    script: [say(ANSWER, { dialect: { done: false } })],
    expect: {},
  },
  { name: 'an answer as one object', script: [say(ANSWER, { dialect: { whole: true } })], expect: {} },
  { name: 'comments between the events', script: [say(ANSWER, { dialect: { comments: ['keep-alive', 'PROCESSING'] } })], expect: {} },

  { name: 'an empty answer, then one', script: [{ type: 'said' }, say(ANSWER)], expect: {} },
  { name: 'reasoning alone, then an answer', script: [{ type: 'said', reasoning: 'Let me think.' }, say(ANSWER)], expect: {} },
  { name: 'blanks alone, then an answer', script: [say(' \n\n '), say(ANSWER)], expect: {} },
  {
    name: 'the finish reason of calls without a call, then an answer',
    apis: ['chat'],
    script: [{ type: 'said', ending: 'calls' }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'the finish reason "error" behind half of a text, then an answer',
    apis: ['chat'],
    script: [say('Order 4', { ending: { word: 'error' } }), say(ANSWER)],
    expect: {},
  },
  {
    name: 'a call that the provider could not read, then an answer',
    apis: ['chat'],
    script: [{ type: 'said', ending: { word: 'MALFORMED_FUNCTION_CALL' } }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'an answer that was given up in the middle, then one',
    apis: ['chat'],
    script: [say('Order 4', { ending: { word: 'abort' } }), say(ANSWER)],
    expect: {},
  },
  {
    name: 'empty answers alone',
    agent: { modelMaxAttempts: 3 },
    script: [{ type: 'said' }, { type: 'said' }, { type: 'said' }],
    expect: { status: 'error', usedUp: false, check: ({ result }) => (result.error === null ? 'the error says nothing' : undefined) },
  },
  {
    name: 'an answer that was cut at the limit of its length',
    script: [say('Order 42 is on its', { ending: 'length' })],
    expect: {
      anyOutput: true,
      check: ({ steps }) => (steps[0]?.finishReason === 'length' ? undefined : `the step says "${steps[0]?.finishReason}", not "length"`),
    },
  },
  {
    name: 'an answer that a filter withholds',
    agent: { modelMaxAttempts: 2 },
    script: [],
    always: () => say('Order', { ending: 'filtered' }),
    expect: { status: 'error', code: 'content_filter' },
  },
  {
    name: 'a prompt that a filter refuses',
    script: [{ type: 'failure', kind: 'filtered' }],
    expect: {
      status: 'error',
      code: ['content_filter', 'model_bad_request', 'model_forbidden'],
      says: ({ failures }) => failures.filtered.says,
    },
  },
  {
    name: 'a refusal of the model',
    script: [{ type: 'said', refusal: 'I cannot help with that.' }],
    expect: { status: 'error', code: 'model_refusal' },
  },
];
