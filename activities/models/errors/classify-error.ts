import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { ERROR_CODES, type ErrorCode, errorMessage, memberOf, ModelCallError } from '../../../src/core/domain/errors.ts';
import { oneLine } from '../../../src/core/domain/text.ts';
import { AnswerFault, type AnswerFaultKind, forPatterns, readErrorBody, ReportedFault } from './error-body.ts';
import { askedWaitMs, decideCode, isBrokenConnection, whyBroken } from './error-rules.ts';
import type { TooLongRule } from './too-long.ts';

/** The failed call, for the message, and the secrets that the message must not show. */
export interface FailedCall {
  model: string;
  /** Host and port of the provider. */
  host: string;
  secrets: readonly string[];
  /** The server's wordings for a conversation that is too long, in addition to the known ones. */
  tooLong?: readonly TooLongRule[] | undefined;
  /** The code of an error that is not about the provider. Default: `model_error`, which is not retried. */
  otherwise?: ErrorCode | undefined;
}

/** The maximum bytes of a provider's text in a message. */
const MAX_PROVIDER_TEXT = 600;

const FAULT_CODES: Record<AnswerFaultKind, ErrorCode> = {
  cut: 'model_unreachable',
  silent: 'model_timeout',
  malformed: 'model_bad_response',
};

/** Advice for the reader of an error. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  model_unauthorized: 'check the API key',
  model_forbidden: 'check what the API key may do',
  model_not_found: "check the model's name and the `baseURL`",
  model_quota_exceeded: 'check the plan and the credit of the account',
  context_length_exceeded: 'shorten the conversation or choose a model with a larger context',
};

/** Converts any error of a model call into a `ModelCallError`, whose code decides whether the call is retried. */
export function classifyError(error: unknown, call: FailedCall): ModelCallError {
  if (error instanceof ModelCallError) return error;
  const { code, message, wait } = describeError(error, call);
  const advice = ADVICE[code];
  return new ModelCallError(code, advice === undefined ? message : `${message} (${advice})`, { retryAfterMs: wait });
}

interface Description {
  code: ErrorCode;
  message: string;
  wait?: number | undefined;
}

function describeError(error: unknown, call: FailedCall): Description {
  if (error instanceof AnswerFault) return describeFault(error, call);
  if (error instanceof ReportedFault) return describeReported(error.body, error.answer?.status, error.answer?.headers, call);
  if (error instanceof APIConnectionTimeoutError) return describeTimeout(call);
  if (error instanceof APIConnectionError) return describeBroken(error, call);
  if (error instanceof APIError && error.status !== undefined) return describeReported(error.error, error.status, error.headers, call);
  // An error that `fetch` throws while a body is read arrives unwrapped: "terminated", with or without a cause.
  if (isBrokenConnection(error)) return describeBroken(error, call);
  const code = call.otherwise ?? 'model_error';
  return { code, message: `The call of model "${call.model}" failed: ${quoteProvider(errorMessage(error), call)}` };
}

function describeFault({ kind, message, text }: AnswerFault, call: FailedCall): Description {
  const said = quoteProvider(readErrorBody(text).message, call);
  return { code: FAULT_CODES[kind], message: `Provider of model "${call.model}": ${message}${said === '' ? '' : `: ${said}`}` };
}

function describeReported(body: unknown, httpStatus: number | undefined, headers: Headers | undefined, call: FailedCall): Description {
  const reportedBody = readErrorBody(body);
  const status = httpStatus ?? reportedBody.status;
  const decided = decideCode({ ...reportedBody, status }, call.tooLong);
  const code = heedRetryHeader(decided, headers?.get('x-should-retry'));
  const text = quoteProvider(reportedBody.message, call) || (status === undefined ? '' : 'it says nothing more');
  const { waitSeconds } = reportedBody;
  const answered = status === undefined ? 'reported an error' : `answered ${status}`;
  return {
    code,
    message: `Provider ${answered} for model "${call.model}"${text === '' ? '' : `: ${text}`}`,
    wait: ERROR_CODES[code].retryable
      ? askedWaitMs({ headers, message: forPatterns(reportedBody.message), waitSeconds }, Date.now())
      : undefined,
  };
}

/** Applies `x-should-retry`, which overrides the status, except for an error that no retry can fix. */
function heedRetryHeader({ code, certain }: { code: ErrorCode; certain: boolean }, header: string | null | undefined): ErrorCode {
  const { retryable } = ERROR_CODES[code];
  if (header === 'false' && retryable) return code === 'model_rate_limited' ? 'model_quota_exceeded' : 'model_error';
  if (header === 'true' && !retryable && !certain) return 'model_server_error';
  return code;
}

function describeTimeout(call: FailedCall): Description {
  return { code: 'model_timeout', message: `Provider at "${call.host}" did not answer in time for model "${call.model}"` };
}

function describeBroken(error: unknown, call: FailedCall): Description {
  const why = whyBroken(error);
  if (why !== undefined && /TIMEOUT|ETIMEDOUT/.test(why)) return describeTimeout(call);
  const reason = why ?? quoteProvider(errorMessage(memberOf(error, 'cause') ?? error), call);
  return {
    code: 'model_unreachable',
    message: `No connection to the provider at "${call.host}" for model "${call.model}", or it broke: ${reason}`,
  };
}

/** Quotes a provider's text in a message. Secrets are redacted before it is cut: part of a key would not be recognized. */
function quoteProvider(text: string, call: FailedCall): string {
  return oneLine(redactCredentials(text, call.secrets), MAX_PROVIDER_TEXT);
}

/**
 * Matches texts that look like a credential: a key with a well-known prefix (also masked, as providers echo it), or a
 * bearer token.
 */
const CREDENTIALS = /\b(?:sk|gsk|xai)-[\w*.-]{6,}|\bBearer\s+[\w.~+/=-]{8,}/gi;

/** Shorter values are not redacted: they would occur in ordinary words. */
const SHORTEST_SECRET = 6;

/** Returns `text` without the given secrets and without texts that look like a credential. */
function redactCredentials(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets.map((value) => value.trim())) {
    if (secret.length >= SHORTEST_SECRET) clean = clean.replaceAll(secret, '[redacted]');
  }
  // The secrets are removed from the whole text, because part of a secret would not be found.
  return forPatterns(clean).replace(CREDENTIALS, '[redacted]');
}
