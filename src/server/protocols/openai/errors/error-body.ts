import type { ErrorCode } from '../../../../core/domain/errors.ts';
import { problemOf, type ReportError } from '../../../problems/problem-of.ts';
import type { RequestProblem } from '../../../problems/request-error.ts';
import { type OpenaiParts, OpenaiRefusal } from './openai-refusal.ts';

/** The body of every error of the OpenAI protocol. */
export interface OpenaiError {
  message: string;
  type: string;
  param: string | null;
  code: string;
}

/** An error with the status and the headers of its response. */
interface OpenaiErrorResponse {
  error: OpenaiError;
  status: number;
  headers: Record<string, string>;
}

/** The codes of the protocol for errors that it knows under another name. */
const CODES: Partial<Record<ErrorCode, string>> = { unauthenticated: 'invalid_api_key', too_many_requests: 'rate_limit_exceeded' };

/** The most characters of the name of a parameter: one that does not exist is named as it was sent. */
const LONGEST_PARAM = 500;

/** Refusals with a status by which the package would send the request again, and would be refused again. */
const STATUS_OF_CONFLICT = 409;

/** Returns the error of the protocol for any thrown value. One that is not for the caller is reported to the operator. */
export function openaiErrorOf(error: unknown, request: { method: string; path: string }, report: ReportError): OpenaiErrorResponse {
  const { problem, headers } = problemOf(error, request, report);
  const openai: OpenaiParts = error instanceof OpenaiRefusal ? error.openai : {};
  // The protocol knows one status for requests that do not fit. That for a key that was used before stays its own.
  const status = openai.status ?? (problem.status === 422 && problem.code !== 'key_reused' ? 400 : problem.status);
  const [first] = problem.errors ?? [];
  const param = (openai.param ?? (first === undefined ? undefined : paramOf(first)))?.slice(0, LONGEST_PARAM);
  const detail = first === undefined ? '' : ` (${first.pointer ?? first.parameter ?? ''}: ${first.detail})`;
  return {
    error: {
      message: `${problem.detail}${detail}`,
      type: typeOf(status),
      param: param ?? null,
      code: openai.code ?? CODES[problem.code] ?? problem.code,
    },
    status,
    headers: { ...(status === STATUS_OF_CONFLICT ? { 'x-should-retry': 'false' } : {}), ...headers },
  };
}

/** Returns the response for any thrown value. */
export function openaiErrorResponse(error: unknown, request: { method: string; path: string }, report: ReportError): Response {
  const { error: body, status, headers } = openaiErrorOf(error, request, report);
  return new Response(JSON.stringify({ error: body }), { status, headers: { 'content-type': 'application/json', ...headers } });
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** Returns the name of the parameter that a problem is about, as the OpenAI protocol writes it: `messages[0].role`. */
function paramOf({ pointer, parameter }: RequestProblem): string | undefined {
  if (pointer === undefined) return parameter;
  const tokens = pointer
    .split('/')
    .slice(1)
    .map((token) => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~'));
  return tokens.length === 0 ? undefined : pathText(tokens);
}

/** Returns a path as text: `messages[0].role`. */
function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (/^\d+$/.test(String(part))) return `${text}[${String(part)}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
