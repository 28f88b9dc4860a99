import type { ErrorCode } from '../../../src/core/domain/errors/error.ts';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';
import { memberOf } from '../../../src/core/domain/errors/thrown.ts';
import { isBrokenConnection } from './broken-connection.ts';
import { readErrorBody } from './error-body.ts';
import { decideCode } from './error-rules.ts';

/**
 * Returns the code of an error that a model client has thrown without classifying it: by the status of an answer if it
 * has one, or by a broken connection. Any other error, such as a defect of the client, may not happen again, and is
 * retried.
 */
export function thrownCode(error: unknown): ErrorCode {
  const status = memberOf(error, 'status');
  if (typeof status === 'number' && status >= 100 && status <= 599) {
    const { words, message } = readErrorBody(memberOf(error, 'error'));
    return decideCode({ words, message: message === '' ? errorMessage(error) : message, status }).code;
  }
  return isBrokenConnection(error) ? 'model_unreachable' : 'model_client_failed';
}
