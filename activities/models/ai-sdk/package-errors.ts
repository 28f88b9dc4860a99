import { type ErrorCode, isInstance, memberOf, ModelCallError } from '../../../src/core/domain/errors.ts';
import { parsedJson } from '../../../src/core/domain/json.ts';
import { classifyError, type FailedCall } from '../errors/classify-error.ts';
import { AnswerFault, forPatterns, readErrorBody, ReportedFault } from '../errors/error-body.ts';
import { isBrokenConnection } from '../errors/error-rules.ts';
import { notWhole } from './stream-answer.ts';

/**
 * The errors of the AI SDK that say nothing of the provider, by their name: one process may have several copies of their classes. A
 * TypeError that is no broken connection is a package that does not understand an answer.
 */
const CODES: Readonly<Record<string, ErrorCode>> = {
  AI_LoadAPIKeyError: 'model_unauthorized',
  AI_LoadSettingError: 'model_bad_request',
  AI_NoSuchModelError: 'model_not_found',
  AI_NoSuchProviderError: 'model_not_found',
  AI_UnsupportedFunctionalityError: 'model_bad_request',
  AI_InvalidPromptError: 'model_bad_request',
  AI_InvalidArgumentError: 'model_bad_request',
  AI_JSONParseError: 'model_bad_response',
  AI_TypeValidationError: 'model_bad_response',
  AI_EmptyResponseBodyError: 'model_bad_response',
  AI_InvalidResponseDataError: 'model_bad_response',
  AI_NoContentGeneratedError: 'model_bad_response',
  AI_APICallError: 'model_unreachable',
  TypeError: 'model_bad_response',
};

/** The words of packages for an answer that ends too soon. */
const CUT = /without a finish reason|stream (?:ended|closed|was closed)|unexpected end of/i;

/** True for an error that a package of the AI SDK knows by its name, or a broken connection. */
export function isOfPackage(error: unknown): boolean {
  return String(memberOf(error, 'name')).startsWith('AI_') || isBrokenConnection(error);
}

/** Converts an error of a provider package, or of its stream, into a `ModelCallError`. */
export function packageFailure(error: unknown, call: FailedCall): ModelCallError {
  if (isInstance(error, ModelCallError)) return error;
  const known = knownFault(error);
  const name = String(memberOf(error, 'name'));
  return classifyError(known ?? error, { ...call, host: hostOf(error) ?? call.host, otherwise: CODES[name] ?? 'model_client_failed' });
}

/** Returns an error in the form that says what the provider answered; undefined for any other. */
function knownFault(error: unknown): AnswerFault | ReportedFault | undefined {
  const message = isInstance(error, ReportedFault) ? readErrorBody(error.body).message : memberOf(error, 'message');
  const status = memberOf(error, 'statusCode');
  if (typeof status === 'number' && status >= 300) {
    const text = memberOf(error, 'responseBody');
    const body = typeof text === 'string' && text !== '' ? (parsedJson(text) ?? text) : message;
    return new ReportedFault(body, { status, headers: headersOf(error) });
  }
  if (typeof message === 'string' && CUT.test(forPatterns(message))) return notWhole();
  // A connection that breaks in the middle of an answer has its status, 200.
  if (typeof status !== 'number' || isBrokenConnection(error)) return undefined;
  return new AnswerFault('malformed', 'the answer does not follow the API', String(message));
}

function headersOf(error: unknown): Headers | undefined {
  const headers = memberOf(error, 'responseHeaders');
  if (typeof headers !== 'object' || headers === null) return undefined;
  const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  try {
    return new Headers(texts);
  } catch {
    return undefined;
  }
}

function hostOf(error: unknown): string | undefined {
  const url = memberOf(error, 'url');
  return typeof url === 'string' ? URL.parse(url)?.host || undefined : undefined;
}
