import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { expect, test } from 'vitest';
import { classifyError } from '../../../activities/models/errors/classify-error.ts';
import { ERROR_CODES } from '../../../src/core/domain/errors.ts';

const CALL = { model: 'gpt-x', host: 'models.example:443', secrets: [] };

function coded(message: string, code: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}

function selfCaused(error: Error): Error {
  return Object.assign(error, { cause: error });
}

test.each<[what: string, error: unknown]>([
  ['"terminated" alone', new TypeError('terminated')],
  ['"terminated" with a code below', new TypeError('terminated', { cause: coded('other side closed', 'UND_ERR_SOCKET') })],
  ['"terminated" with a cause that has no code', new TypeError('terminated', { cause: new Error('other side closed') })],
  ['"terminated" with a cause that is no error', new TypeError('terminated', { cause: 'closed' })],
  ['"terminated" that is its own cause', selfCaused(new TypeError('terminated'))],
  ['"terminated" as an error of another class', new Error('terminated')],
  ['"terminated" in an error of the library without a status', new APIError(undefined, undefined, 'terminated', undefined)],
  [
    '"terminated" below an error of the library',
    new APIConnectionError({ message: 'Connection error.', cause: new TypeError('terminated') }),
  ],
  ['"terminated" below another error', new Error('the stream failed', { cause: new TypeError('terminated') })],
  ['a reset of the stream', coded('read ECONNRESET', 'ECONNRESET')],
  ['a broken pipe below another error', new Error('the stream failed', { cause: coded('write EPIPE', 'EPIPE') })],
  ['an error of undici', coded('other side closed', 'UND_ERR_SOCKET')],
  ['a stream that closes too soon', coded('Premature close', 'ERR_STREAM_PREMATURE_CLOSE')],
  ['a socket that hangs up', new Error('socket hang up')],
  ['a failed fetch without a reason', new TypeError('fetch failed')],
])('%s is a broken connection, which is tried again', (_, error) => {
  const failure = classifyError(error, CALL);
  expect(failure).toMatchObject({ code: 'model_unreachable', message: expect.stringContaining('models.example:443') });
  expect(ERROR_CODES[failure.code].retryable).toBe(true);
});

test.each<[what: string, error: unknown]>([
  ['a time-out of the library', new APIConnectionTimeoutError()],
  ['a time-out of the system', new TypeError('terminated', { cause: coded('read ETIMEDOUT', 'ETIMEDOUT') })],
  ['a time-out of undici', coded('Body Timeout Error', 'UND_ERR_BODY_TIMEOUT')],
])('%s is a model that did not answer in time', (_, error) => {
  expect(classifyError(error, CALL)).toMatchObject({ code: 'model_timeout' });
});

test.each<[what: string, error: unknown]>([
  ['a defect', new TypeError('x is not a function')],
  ['an error that only speaks of an end', new Error('the account was terminated by its owner')],
  ['an error with the code of a defect', coded('bad argument', 'ERR_INVALID_ARG_VALUE')],
  ['nothing', undefined],
])('%s is not a broken connection, and is not tried again', (_, error) => {
  expect(classifyError(error, CALL)).toMatchObject({ code: 'model_error' });
});

test('the error of an invalid certificate names the certificate', () => {
  const cause = new TypeError('fetch failed', { cause: coded('certificate has expired', 'CERT_HAS_EXPIRED') });
  expect(classifyError(new APIConnectionError({ message: 'Connection error.', cause }), CALL)).toMatchObject({
    code: 'model_unreachable',
    message: expect.stringContaining('CERT_HAS_EXPIRED'),
  });
});
