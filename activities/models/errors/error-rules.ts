import { type ErrorCode, errorMessage, isInstance, memberOf } from '../../../src/core/domain/errors.ts';
import { isJsonObject } from '../../../src/core/domain/json.ts';
import { type ErrorBody, forPatterns, readErrorBody } from './error-body.ts';
import { isTooLong, type TooLongRule } from './too-long.ts';

/** An error that a provider has reported. */
interface ReportedError {
  /** Undefined for an error inside an answer of status 200 that names no status. */
  status: number | undefined;
  words: readonly string[];
  message: string;
}

/** One row of the table: all of its conditions must hold. */
interface ErrorRule {
  code: ErrorCode;
  /** A status, or the first and the last of a range. */
  status?: number | readonly [number, number];
  /** Matches one of the words. */
  word?: RegExp;
  /** Matches the message. */
  text?: RegExp;
  /** True if a retry cannot fix the error, even if the provider's retry header asks for one. */
  certain?: true;
}

/** A text that says that a key or a token is no longer valid. */
const REFUSED_CREDENTIALS =
  /\b(?:api[ _-]?key|(?:access|security) token|credentials?)\b[^.]{0,80}\b(?:not valid|invalid|expired|revoked)\b|\b(?:invalid|expired|revoked)\s+(?:api[ _-]?key|(?:access|security) token|credentials?)\b/i;

/** The table of provider errors, except for conversations that are too long (`too-long.ts`). The first matching row decides. */
const ERROR_RULES: readonly ErrorRule[] = [
  {
    code: 'model_quota_exceeded',
    // OpenAI and most others; Kimi; LiteLLM; MiniMax and Zhipu.
    word: /^(?:insufficient_quota|insufficient_credits|billing_\w+|exceeded_current_quota_error|budget_exceeded|insufficient_balance\w*)$/,
    certain: true,
  },
  { code: 'model_quota_exceeded', status: 402, certain: true },
  // Anthropic.
  { code: 'model_quota_exceeded', status: 400, text: /credit balance is too low/i, certain: true },
  // A limit of zero: the account may not use the model at all.
  { code: 'model_quota_exceeded', status: 429, text: /\blimit:? 0\b(?![.,]\d)/i, certain: true },
  {
    code: 'content_filter',
    word: /content_filter|content_policy|policy_violation|ResponsibleAIPolicy|moderation_blocked|^(?:bio|cyber)_policy/i,
    certain: true,
  },
  { code: 'content_filter', status: 400, text: /flagged as potentially violating/i, certain: true },

  // Google and Bedrock refuse a key that is no longer valid with other statuses than 401.
  { code: 'model_unauthorized', status: [400, 403], text: REFUSED_CREDENTIALS },
  { code: 'model_bad_request', status: 400 },
  { code: 'model_unauthorized', status: 401 },
  { code: 'model_forbidden', status: 403 },
  { code: 'model_not_found', status: 404 },
  { code: 'model_request_timeout', status: 408 },
  { code: 'model_conflict', status: 409 },
  { code: 'model_request_too_large', status: 413 },
  { code: 'model_unprocessable', status: 422 },
  { code: 'model_rate_limited', status: 429 },
  { code: 'model_bad_request', status: [405, 499] },
  { code: 'model_server_error', status: [500, 599] },
  { code: 'model_bad_response', status: [100, 399] },

  // Errors inside an answer of status 200 only have words.
  { code: 'model_rate_limited', word: /rate_limit|too_many_requests|throttl|resource_exhausted/i },
  // Bedrock: a package may only pass on the exception's message.
  { code: 'model_rate_limited', text: /^too many (?:requests|tokens)\b|\bthrottl/i },
  { code: 'model_server_error', word: /server_error|internal|overloaded|unavailable|timeout/i },
  { code: 'model_unauthorized', word: /api_key|authentication/i },
  { code: 'model_forbidden', word: /permission/i },
  { code: 'model_not_found', word: /not_found/i },
  { code: 'model_bad_request', word: /invalid|unsupported|bad_?request|image|mismatch/i },
  { code: 'model_server_error' },
];

/**
 * Returns the code of a reported error; `certain` if a retry header must not override it. `tooLong`: the user's rows for conversations that
 * are too long.
 */
export function decideCode(reported: ReportedError, tooLong?: readonly TooLongRule[]): { code: ErrorCode; certain: boolean } {
  const error = { ...reported, message: forPatterns(reported.message) };
  if (isTooLong(error, tooLong)) return { code: 'context_length_exceeded', certain: true };
  const rule = ERROR_RULES.find((candidate) => fits(candidate, error));
  return { code: rule?.code ?? 'model_error', certain: rule?.certain === true };
}

function fits({ status, word, text }: ErrorRule, error: ReportedError): boolean {
  if (status !== undefined && !isStatusWithin(status, error.status)) return false;
  if (word !== undefined && !error.words.some((candidate) => word.test(candidate))) return false;
  return text === undefined || text.test(error.message);
}

function isStatusWithin(expected: number | readonly [number, number], status: number | undefined): boolean {
  if (status === undefined) return false;
  return typeof expected === 'number' ? status === expected : status >= expected[0] && status <= expected[1];
}

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

/** Returns the wait that the provider asks for: from the client, otherwise from the headers and the body of an answer with a status. */
export function thrownWaitMs(error: unknown): number | undefined {
  const known = memberOf(error, 'retryAfterMs');
  if (typeof known === 'number') return known > 0 && Number.isFinite(known) ? Math.ceil(known) : undefined;
  if (typeof memberOf(error, 'status') !== 'number') return undefined;
  const { message, waitSeconds } = bodyOf(error);
  return askedWaitMs({ headers: headersOf(error), message: forPatterns(message), waitSeconds }, Date.now());
}

/** Returns the body of the error, or its message, which may be the body as text. */
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

/** The maximum number of causes that are followed: the libraries below `fetch` do not nest deeper. */
const MOST_CAUSES = 5;

/** Codes of the operating system, `fetch`, streams and compression for a broken connection. */
const BROKEN_CODE = /^(?:E[A-Z0-9]{3,}|EAI_\w+|UND_ERR_\w+|ERR_STREAM_\w+|ERR_HTTP2_\w+|ERR_SSL_\w+|ERR_TLS_\w+|HPE_\w+|Z_\w+)$/;

/** A code that can be shown: it contains nothing of the request. */
const WORD = /^[A-Z][A-Z0-9_]{2,50}$/;

/** Messages that `fetch` and streams use instead of a code. */
const BROKEN_TEXT = /^(?:terminated|fetch failed|network error|premature close|socket hang up|other side closed)$/i;

/** True for a failed or broken connection, at any depth of the chain of causes. */
export function isBrokenConnection(error: unknown): boolean {
  const chain = causesOf(error);
  if (causeTexts(chain, 'code').some((code) => BROKEN_CODE.test(code))) return true;
  if (causeTexts(chain, 'message').some((message) => BROKEN_TEXT.test(message))) return true;
  // An error of `fetch` has a code in its causes; a defect of Longhaul has none.
  return isInstance(error, TypeError) && causeTexts(chain, 'code').length > 0;
}

/**
 * Returns in one word why the connection broke, if known: a code (`ECONNRESET`, `UND_ERR_SOCKET`), otherwise `terminated` and similar
 * words.
 */
export function whyBroken(error: unknown): string | undefined {
  const chain = causesOf(error);
  return (
    causeTexts(chain, 'code').find((code) => WORD.test(code)) ?? causeTexts(chain, 'message').find((message) => BROKEN_TEXT.test(message))
  );
}

function causeTexts(chain: readonly unknown[], name: 'code' | 'message'): string[] {
  return chain
    .map((one) => memberOf(one, name))
    .filter((one) => typeof one === 'string')
    .map(forPatterns);
}

/** Returns an error and its causes, up to the limit. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let current = error; current !== undefined && chain.length < MOST_CAUSES; current = memberOf(current, 'cause')) chain.push(current);
  return chain;
}

/** The information of a refusal about the time of the next request. */
interface Refusal {
  headers: Headers | undefined;
  /** The error's message, cut for regular expressions. */
  message: string;
  /** The seconds that the body asks for. */
  waitSeconds: number | undefined;
}

/**
 * Returns the wait in milliseconds that a provider asks for, from the most certain source: `retry-after-ms`, `retry-after` in seconds or as
 * a date, the body, the message ("try again in 12.3s"), the headers of a limit that is reached. Undefined without a wait, and for one that
 * is past, zero or not a number: a wait of zero would replace the back-off.
 */
export function askedWaitMs({ headers, message, waitSeconds }: Refusal, now: number): number | undefined {
  return (
    headerMs(headers?.get('retry-after-ms'), 1) ??
    headerMs(headers?.get('retry-after'), 1_000) ??
    untilDate(headers?.get('retry-after'), now) ??
    wholeMs((waitSeconds ?? 0) * 1_000) ??
    waitInText(message) ??
    untilReset(headers, now)
  );
}

function headerMs(value: string | null | undefined, factor: number): number | undefined {
  return value === null || value === undefined || value.trim() === '' ? undefined : wholeMs(Number(value) * factor);
}

function wholeMs(ms: number): number | undefined {
  const rounded = Math.ceil(ms);
  return Number.isSafeInteger(rounded) && rounded > 0 ? rounded : undefined;
}

function untilDate(value: string | null | undefined, now: number): number | undefined {
  // `Date.parse` reads "5" or "-1" as a year or a month: only a value with the name of a weekday or month, or in ISO 8601, is a date here.
  const isDate = value !== null && value !== undefined && value.length < 50 && (/[a-z]{3}/i.test(value) || /^\d{4}-\d\d-\d\dT/.test(value));
  return isDate ? wholeMs(Date.parse(value) - now) : undefined;
}

const UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milli)/i, 1],
  [/^s/i, 1_000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
  [/^d/i, 86_400_000],
];

/** A number with its unit. */
const AMOUNT = /(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])/gi;

/** "Please try again in 1m12.5s", "wait 20 seconds", "retry after 59 seconds". */
const ASKED_IN_TEXT = /\b(?:try again|retry|retrying|wait|available)\b[a-z ]{0,30}(?=\d)/i;

function waitInText(message: string): number | undefined {
  const asked = ASKED_IN_TEXT.exec(message);
  if (asked === null) return undefined;
  return durationMs(message.slice(asked.index + asked[0].length, asked.index + asked[0].length + 60));
}

/** Reads consecutive amounts at the beginning of a text: `6m0s`, `20ms`, `1 minute 5 seconds`. */
function durationMs(text: string): number | undefined {
  let total = 0;
  let end = 0;
  for (const { index, 0: found, 1: amount = '', 2: unit = '' } of text.matchAll(AMOUNT)) {
    if (!/^[\s,]{0,2}(?:and )?$/.test(text.slice(end, index))) break;
    total += Number(amount) * (UNITS_MS.find(([name]) => name.test(unit))?.[1] ?? 0);
    end = index + found.length;
  }
  return wholeMs(total);
}

/** The prefixes of headers about limits: OpenAI and similar servers, Anthropic, the IETF draft. */
const LIMIT_HEADER = /^(?:x-|anthropic-)?rate-?limit-([a-z-]{0,40})$/;

/**
 * Returns the time until a limit is reset, from the headers of exhausted limits. If none is marked as exhausted, the nearest reset counts,
 * because one of the limits was reached.
 */
function untilReset(headers: Headers | undefined, now: number): number | undefined {
  const resets: { ms: number; isReached: boolean }[] = [];
  for (const [name, value] of headers ?? []) {
    const [, rest] = LIMIT_HEADER.exec(name) ?? [];
    if (rest?.includes('reset') !== true) continue;
    const ms = resetMs(value, now);
    const left = headers?.get(name.replace('reset', 'remaining'));
    if (ms !== undefined) resets.push({ ms, isReached: left === '0' });
  }
  const reached = resets.filter(({ isReached }) => isReached).map(({ ms }) => ms);
  if (reached.length > 0) return Math.max(...reached);
  return resets.length === 0 ? undefined : Math.min(...resets.map(({ ms }) => ms));
}

/** Larger numbers are times since 1970, not waits: in seconds, in milliseconds. */
const EPOCH_S = 1e9;
const EPOCH_MS = 1e12;

function resetMs(value: string, now: number): number | undefined {
  if (value.length > 50) return undefined;
  const number = value.trim() === '' ? NaN : Number(value);
  if (Number.isNaN(number)) return untilDate(value, now) ?? durationMs(value);
  if (number >= EPOCH_MS) return wholeMs(number - now);
  return number >= EPOCH_S ? wholeMs(number * 1_000 - now) : wholeMs(number * 1_000);
}
