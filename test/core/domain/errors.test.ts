import { expect, test } from 'vitest';
import { connectionReason, thrownMessage } from '../../../src/core/domain/errors.ts';

test.each([
  ['14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:7233', 'nothing listens there'],
  [
    'Status { code: Unavailable, message: "tcp connect error", source: Os { kind: ConnectionRefused, message: "Connection refused" } }',
    'nothing listens there',
  ],
  ['14 UNAVAILABLE: Name resolution failed for target dns:nowhere.example:7233', 'the host is not known'],
  ['dns error: failed to lookup address information: Name or service not known', 'the host is not known'],
  ['Failed to connect before the deadline', 'no answer in time'],
  ['4 DEADLINE_EXCEEDED: Deadline exceeded after 4.001s', 'no answer in time'],
  [
    '14 UNAVAILABLE: No connection established. Last error: self-signed certificate in certificate chain',
    'no TLS connection could be made',
  ],
  ['Status { code: Unauthenticated, message: "no key" }', 'it does not accept the credentials'],
  ['7 PERMISSION_DENIED: Request unauthorized.', 'it does not accept the credentials'],
  ['7 PERMISSION_DENIED: no', 'the credentials have no permission'],
  ['14 UNAVAILABLE: read ECONNRESET', 'the connection was cut'],
  ['14 UNAVAILABLE: Connection dropped', 'the connection was cut'],
  ['Status { code: Unavailable, message: "" }', 'it is not available'],
  ['3 INVALID_ARGUMENT: the id is\n too long', 'the id is too long'],
])('%j is said as "%s"', (text, reason) => {
  expect(connectionReason(new Error(text))).toBe(reason);
});

const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' });
const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error('no');
    },
  },
);

test.each<[string, unknown, string]>([
  ['an error', new Error('boom'), 'boom'],
  ['a text', 'boom', 'boom'],
  ['nothing', undefined, 'undefined was thrown instead of an error'],
  ['null', null, 'null was thrown instead of an error'],
  ['an object', { code: 7, request: { key: 's3cret' } }, 'an object was thrown instead of an error: {"code":7}'],
  ['an object with a message', { message: 'boom', code: 7 }, 'boom'],
  ['an empty object', {}, '[object Object] was thrown instead of an error'],
  ['an object that cannot be read', unreadable, '[What was thrown cannot be shown as text]'],
  [
    'several errors',
    new AggregateError([new Error('one'), 'two', new Error('one')], 'All promises were rejected'),
    'All promises were rejected: one; two',
  ],
  ['several errors without a message of their own', new AggregateError([new Error('one')]), 'one'],
  ['more errors than are told', new AggregateError([1, 2, 3, 4, 5, 6, 7].map(String), 'all'), 'all: 1; 2; 3; 4; 5; and 2 more'],
  ['a failed fetch', new TypeError('fetch failed', { cause: refused }), 'fetch failed (ECONNREFUSED)'],
  ['a cause of a cause', new Error('outer', { cause: new Error('secret', { cause: refused }) }), 'outer (ECONNREFUSED)'],
  ['a code that the message has', new Error('it says ECONNREFUSED', { cause: refused }), 'it says ECONNREFUSED'],
  ['a code that is not a name', new Error('outer', { cause: Object.assign(new Error('x'), { code: 'key=s3cret' }) }), 'outer'],
])('the message of a function that threw %s says what is known, and nothing of the rest of a cause', (_, thrown, message) => {
  expect(thrownMessage(thrown)).toBe(message);
});
