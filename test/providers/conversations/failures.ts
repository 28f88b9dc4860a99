import { call, fail, type FailureKind, say } from '../answer.ts';
import type { Conversation } from '../conversation.ts';

const ANSWER = 'Order 42 is on its way.';

/** A transient failure: the request is resent, and the run does not notice. */
function passes(name: string, kind: FailureKind): Conversation {
  return { name, script: [fail(kind), fail(kind), say(ANSWER)], expect: {} };
}

/** A failure that lasts ends the run at once, with the provider's words. */
function lasts(name: string, kind: FailureKind): Conversation {
  return { name, script: [fail(kind)], expect: { status: 'error', says: ({ failures }) => failures[kind].says } };
}

const GATEWAY =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.27.0</center>\r\n</body>\r\n</html>\r\n';
const NOT_FOUND =
  '<!DOCTYPE html><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The route was not found on this gateway.</p></body></html>';
const HTML = { 'content-type': 'text/html' };

/** No wait cures it. */
const ABOVE_LIMIT = {
  status: 429,
  body: {
    error: {
      message:
        'Request too large for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.',
      type: 'tokens',
      param: null,
      code: 'rate_limit_exceeded',
    },
  },
};

/** What providers, and the gateways before them, answer instead. */
export const FAILURES: readonly Conversation[] = [
  passes('the rate is limited, with a wait in the header', 'rate limited'),
  passes('the rate is limited, with a wait in words or none', 'rate limited in words'),
  passes('the provider is overloaded', 'overloaded'),
  passes('an error of the server', 'server error'),
  lasts('the quota is used up', 'out of quota'),
  lasts('a key that is refused', 'unauthorized'),
  {
    name: 'an overload inside of a stream, then an answer',
    script: [{ type: 'failure in the stream', kind: 'overloaded', text: 'Order 42' }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'an error of the server inside of a stream, then an answer',
    script: [{ type: 'failure in the stream', kind: 'server error' }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'an error as an object of status 200, then an answer',
    script: ({ failures }) => [{ type: 'status', failure: { ...failures['server error'], status: 200 } }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'the page of a gateway, then an answer',
    script: [{ type: 'status', failure: { status: 502, headers: HTML, body: GATEWAY } }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'the page of a gateway that does not know the path',
    script: [{ type: 'status', failure: { status: 404, headers: HTML, body: NOT_FOUND } }],
    expect: {
      status: 'error',
      code: 'model_not_found',
      says: () => '404 Not Found',
      check: ({ result }) => (result.error?.includes('<h1>') === true ? 'the error shows tags' : undefined),
    },
  },
  { name: 'a connection that breaks before the answer, then an answer', script: [{ type: 'broken' }, say(ANSWER)], expect: {} },
  {
    name: 'a connection that breaks in the text, then an answer',
    script: [say('Order 42 is lost, I fear.', { cutAt: 0.6 }), say(ANSWER)],
    expect: {},
  },
  {
    name: 'a connection that breaks in the arguments, then the call',
    script: [
      { type: 'said', calls: [{ name: 'pay', arguments: { order: 42, amount: 1500, to: 'ada@example.com' } }], cutAt: 0.7 },
      call(['pay', { order: 42, amount: 1500 }]),
      say(ANSWER),
    ],
    expect: { ran: [['pay', { order: 42, amount: 1500 }]] },
  },
  {
    name: 'a stream that ends in the middle without a word, then an answer',
    script: [say('Order 42 is lost, I fear.', { endsAt: 0.4, ending: 'none', dialect: { done: false } }), say(ANSWER)],
    expect: {},
  },
  {
    name: 'a provider that falls silent, then an answer',
    client: { timeout: '3s' },
    script: [{ type: 'silent' }, say(ANSWER)],
    expect: {},
  },
  {
    name: 'a conversation that is too long, and is made shorter',
    agent: { window: { keepResults: 1 } },
    longest: 24_000,
    script: [
      call(['echo', { text: 'a'.repeat(9_000) }]),
      call(['echo', { text: 'b'.repeat(9_000) }]),
      (request) => (request.tools.length === 0 ? say('The customer asked for order 42.') : say(ANSWER)),
      say(ANSWER),
    ],
    expect: {
      refusals: 2,
      usedUp: false,
      output: ANSWER,
      ran: [
        ['echo', { text: 'a'.repeat(9_000) }],
        ['echo', { text: 'b'.repeat(9_000) }],
      ],
    },
  },
  {
    name: 'a request that alone is above the limit of a minute',
    script: [],
    always: () => ({ type: 'status', failure: ABOVE_LIMIT }),
    expect: {
      status: 'error',
      code: 'context_length_exceeded',
      says: () => 'Limit 30000, Requested 45000',
      check: ({ exchanged }) => (exchanged.length > 2 ? `it was sent ${exchanged.length} times` : undefined),
    },
  },
  {
    name: 'a first message that is too long',
    longest: 10_000,
    input: `Where is order 42? ${'x'.repeat(20_000)}`,
    script: [],
    expect: { status: 'error', code: 'context_length_exceeded', refusals: 2 },
  },
];
