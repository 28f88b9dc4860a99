import { expect, test } from 'vitest';
import { connectionReason } from '../../../src/core/domain/errors.ts';

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
