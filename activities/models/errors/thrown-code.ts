import type { ErrorCode } from '../../../src/core/domain/errors/error.ts';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';
import { isInstance, memberOf } from '../../../src/core/domain/errors/thrown.ts';
import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import { isBrokenConnection } from './broken-connection.ts';
import { type ErrorBody, forPatterns, readErrorBody } from './error-body.ts';
import { decideCode } from './error-rules.ts';
import { askedWaitMs } from './retry-after.ts';

/**
 * Returns the code of an error that a model client has thrown without classifying it: by the status of an answer if it
 * has one, or by a broken connection. Any other error, such as a defect of the client, may not happen again, and is
 * retried.
 */
export function thrownCode(error: unknown): ErrorCode {
  const status = memberOf(error, 'status');
  if (typeof status === 'number' && status >= 100 && status <= 599) return decideCode({ ...bodyOf(error), status }).code;
  return isBrokenConnection(error) ? 'model_unreachable' : 'model_client_failed';
}

/** Returns the wait that the provider asks for: as the client says it, otherwise by the headers and the body of an answer with a status. */
export function thrownWaitMs(error: unknown): number | undefined {
  const known = memberOf(error, 'retryAfterMs');
  if (typeof known === 'number') return known > 0 && Number.isFinite(known) ? Math.ceil(known) : undefined;
  if (typeof memberOf(error, 'status') !== 'number') return undefined;
  const { message, waitSeconds } = bodyOf(error);
  return askedWaitMs({ headers: headersOf(error), message: forPatterns(message), waitSeconds }, Date.now());
}

/** The body of the error, or its message, which may be the body as a text. */
function bodyOf(error: unknown): ErrorBody {
  const body = readErrorBody(memberOf(error, 'error'));
  return body.message === '' ? readErrorBody(errorMessage(error)) : body;
}

function headersOf(error: unknown): Headers | undefined {
  const headers = memberOf(error, 'headers');
  if (isInstance(headers, Headers)) return headers;
  if (!isJsonObject(headers)) return undefined;
  try {
    return new Headers(
      Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as [string, string]] : [])),
    );
  } catch {
    return undefined;
  }
}
