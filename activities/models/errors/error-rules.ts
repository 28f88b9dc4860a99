import type { ErrorCode } from '../../../src/core/domain/errors/error.ts';

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

/** Messages of OpenAI, vLLM, llama.cpp, Ollama and LM Studio for a conversation that is too long. */
const CONTEXT_TEXT = new RegExp(
  [
    'maximum context length',
    "exceed\\w* (?:the |this |max(?:imum)? |available |model(?:'s)? )*context",
    'longer than the maximum model length',
    'too long to fit into the model',
    'greater than the context length',
    'max_tokens must be at least 1, got -',
  ].join('|'),
  'i',
);

/** The table of provider errors. The first matching row decides. */
const ERROR_RULES: readonly ErrorRule[] = [
  { code: 'context_length_exceeded', word: /^(?:context_length_exceeded|exceed_context_size_error)$/, certain: true },
  { code: 'context_length_exceeded', status: [400, 428], text: CONTEXT_TEXT, certain: true },
  { code: 'context_length_exceeded', status: [500, 599], text: CONTEXT_TEXT, certain: true },
  { code: 'model_quota_exceeded', word: /^(?:insufficient_quota|insufficient_credits|billing_\w+)$/, certain: true },
  { code: 'model_quota_exceeded', status: 402, certain: true },
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
  { code: 'context_length_exceeded', text: CONTEXT_TEXT, certain: true },
  { code: 'model_rate_limited', word: /rate_limit|too_many_requests/i },
  { code: 'model_server_error', word: /server_error|internal|overloaded|unavailable|timeout/i },
  { code: 'model_unauthorized', word: /api_key|authentication/i },
  { code: 'model_forbidden', word: /permission/i },
  { code: 'model_not_found', word: /not_found/i },
  { code: 'model_bad_request', word: /invalid|unsupported|bad_?request|image|mismatch/i },
  { code: 'model_server_error' },
];

/** Returns the code of a reported error; `certain` if a retry header must not overrule it. */
export function decideCode(error: ReportedError): { code: ErrorCode; certain: boolean } {
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
