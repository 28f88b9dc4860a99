import type { ErrorCode } from '../../../src/core/domain/errors/error.ts';
import { forPatterns } from './error-body.ts';
import { isTooLong, type TooLongRule } from './too-long.ts';

/** An error that a provider has reported. */
export interface ReportedError {
  /** Undefined for an error inside an answer of status 200 that does not name one. */
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
  /** True if repeating the request cannot cure the error, even if the provider's retry header says so. */
  certain?: true;
}

/** The table of provider errors, without those of conversations that are too long (`too-long.ts`). The first matching row decides. */
const ERROR_RULES: readonly ErrorRule[] = [
  {
    code: 'model_quota_exceeded',
    // OpenAI and most others; Kimi; LiteLLM; MiniMax and Zhipu.
    word: /^(?:insufficient_quota|insufficient_credits|billing_\w+|exceeded_current_quota_error|budget_exceeded|insufficient_balance\w*)$/,
    certain: true,
  },
  { code: 'model_quota_exceeded', status: 402, certain: true },
  // A limit of nothing: the account may not use the model at all.
  { code: 'model_quota_exceeded', status: 429, text: /\blimit:? 0\b(?![.,]\d)/i, certain: true },
  {
    code: 'content_filter',
    word: /content_filter|content_policy|policy_violation|ResponsibleAIPolicy|moderation_blocked|^(?:bio|cyber)_policy/i,
    certain: true,
  },
  { code: 'content_filter', status: 400, text: /flagged as potentially violating/i, certain: true },

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

  // Errors inside an answer of status 200 have words only.
  { code: 'model_rate_limited', word: /rate_limit|too_many_requests|throttl|resource_exhausted/i },
  { code: 'model_server_error', word: /server_error|internal|overloaded|unavailable|timeout/i },
  { code: 'model_unauthorized', word: /api_key|authentication/i },
  { code: 'model_forbidden', word: /permission/i },
  { code: 'model_not_found', word: /not_found/i },
  { code: 'model_bad_request', word: /invalid|unsupported|bad_?request|image|mismatch/i },
  { code: 'model_server_error' },
];

/**
 * Returns the code of a reported error; `certain` if a retry header must not overrule it. `tooLong`: the user's rows for conversations
 * that are too long.
 */
export function decideCode(reported: ReportedError, tooLong?: readonly TooLongRule[]): { code: ErrorCode; certain: boolean } {
  const error = { ...reported, message: forPatterns(reported.message) };
  if (isTooLong(error, tooLong)) return { code: 'context_length_exceeded', certain: true };
  const rule = ERROR_RULES.find((candidate) => fits(candidate, error));
  return { code: rule?.code ?? 'model_error', certain: rule?.certain === true };
}

function fits({ status, word, text }: ErrorRule, error: ReportedError): boolean {
  if (status !== undefined && !within(status, error.status)) return false;
  if (word !== undefined && !error.words.some((candidate) => word.test(candidate))) return false;
  return text === undefined || text.test(error.message);
}

function within(expected: number | readonly [number, number], status: number | undefined): boolean {
  if (status === undefined) return false;
  return typeof expected === 'number' ? status === expected : status >= expected[0] && status <= expected[1];
}
