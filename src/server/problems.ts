import { randomUUID } from 'node:crypto';
import { ERROR_CODES, type ErrorCode, errorCode, errorMessage, errorPage, LonghaulError, memberOf } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import type { ValueProblem } from './schemas/read-value.ts';

/** The body of an error response, as in RFC 9457. */
export interface Problem {
  /** The URL of the error's documentation. */
  type: string;
  /** What the code means, in a sentence. */
  title: string;
  /** The HTTP status of the response. */
  status: number;
  /** What is wrong with this request. For an internal error: the id under which the service has logged it. */
  detail: string;
  /** The id of the error in the service's log. Present for an internal error. */
  instance?: string;
  /** The code of the error, for programs: `docs/errors.md` lists them. */
  code: ErrorCode;
  /** The invalid parts of the request. Absent for other problems. */
  errors?: readonly RequestProblem[];
}

/** A problem, with the headers of its response. */
interface Refusal {
  problem: Problem;
  headers: Record<string, string>;
}

/** Reports an internal error to the operator, under the id in the problem. */
export type ReportError = (error: unknown, occurrence: { id: string; method: string; path: string }) => void;

/** Returns the method and path of a request for reports. */
export function reportedRequest({ method, url }: Request): { method: string; path: string } {
  return { method, path: new URL(url).pathname };
}

export function httpStatusOf(code: ErrorCode): number {
  const row = ERROR_CODES[code];
  return 'httpStatus' in row ? row.httpStatus : 500;
}

/** Server errors whose messages the caller may see. Messages of others contain addresses, keys and causes. */
const TOLD = new Set<ErrorCode>(['busy', 'wait_timeout', 'shutting_down']);

/** The codes after which a caller may retry after the short time of `RETRY_AFTER_SECONDS`; after others, the usual one. */
const SHORT_WAITS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['busy', 'queue_full', 'too_many_requests', 'shutting_down']);
const RETRY_AFTER_SECONDS = { short: 1, usual: 5 };

/**
 * Returns the problem for any thrown value. If an error has no code or the caller can do nothing about it, its message
 * is reported to the operator under an id, and not shown to the caller.
 */
export function problemOf(error: unknown, request: { method: string; path: string }, report: ReportError): Refusal {
  const code = codeOf(error);
  const status = httpStatusOf(code);
  const isTold = status < 500 || TOLD.has(code);
  const parts = partsOf(error);
  const id = isTold ? undefined : randomUUID();
  if (id !== undefined) report(error, { id, ...request });
  const problem: Problem = {
    type: errorPage(code),
    title: ERROR_CODES[code].description,
    status,
    detail: isTold ? detailOf(code, error) : `${ERROR_CODES[code].description} The service has logged it as ${id}.`,
    ...(id === undefined ? {} : { instance: `urn:uuid:${id}` }),
    code,
    ...defined({ errors: parts.errors }),
  };
  return { problem, headers: { ...parts.headers, ...retryAfter(code, status, parts) } };
}

/** Returns the code of an error. A UsageError of the client is a mistake of the service's caller. */
function codeOf(error: unknown): ErrorCode {
  const code = errorCode(error);
  if (code !== undefined) return code;
  if (memberOf(error, 'name') === 'UsageError') return 'invalid_input';
  return grpcCode(error) === GRPC.resourceExhausted ? 'busy' : 'internal';
}

/** The longest detail: messages quote parts of requests. */
const LONGEST_DETAIL = 2_000;

function detailOf(code: ErrorCode, error: unknown): string {
  // The client's own message names the namespace, and a command that the caller may not have.
  if (code === 'run_not_found') return 'The service has no run of that id for this caller.';
  if (grpcCode(error) !== undefined) return ERROR_CODES[code].description;
  const message = errorMessage(error);
  return message.length > LONGEST_DETAIL ? `${message.slice(0, LONGEST_DETAIL).toWellFormed()}…` : message;
}

/** The errors whose `parts` belong to the response. Other errors may have different `parts`. */
const REFUSALS: ReadonlySet<unknown> = new Set(['RequestError', 'AccessError', 'TooManyRequestsError']);

function partsOf(error: unknown): RefusalParts {
  const parts = memberOf(error, 'parts');
  return typeof parts === 'object' && parts !== null && REFUSALS.has(memberOf(error, 'name')) ? parts : {};
}

function retryAfter(code: ErrorCode, status: number, { retryAfterSeconds }: RefusalParts): Record<string, string> {
  if (status !== 429 && status !== 503) return {};
  const usual = SHORT_WAITS.has(code) ? RETRY_AFTER_SECONDS.short : RETRY_AFTER_SECONDS.usual;
  return { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds ?? usual))) };
}

/** One invalid part of a request. */
export interface RequestProblem {
  /** The part of the body, as a JSON pointer in a URI fragment: `#/limits/steps`. */
  pointer?: string;
  /** The parameter of the path, the query or the header, if the problem is not in the body. */
  parameter?: string;
  /** What is wrong with this part. */
  detail: string;
}

/** The parts of a response that only some errors have. */
export interface RefusalParts {
  /** The invalid parts of the request. Absent for other problems. */
  errors?: readonly RequestProblem[];
  /** The seconds after which the caller may retry. Default: depends on the code. */
  retryAfterSeconds?: number;
  /** Further headers of the response, such as `Allow`. */
  headers?: Readonly<Record<string, string>>;
}

/** An invalid request to the HTTP service. Every protocol of the service throws it, and reports it in its own format. */
export class RequestError extends LonghaulError {
  /** The name of the class, equal in all copies of the package. */
  override readonly name = 'RequestError';
  /** What the response has in addition to code and message. @internal */
  readonly parts: RefusalParts;

  /** Makes an error for a request. Your own checks, such as `authenticate`, may throw it. */
  constructor(code: ErrorCode, message: string, { cause, ...parts }: RefusalParts & ErrorOptions = {}) {
    super(code, message, defined({ cause }));
    this.parts = parts;
  }
}

/** The longest part of a pointer: the caller chooses the names of members. */
const LONGEST_TOKEN = 100;

/** Returns the invalid parts of a body with their JSON pointers. */
export function bodyProblems(problems: readonly ValueProblem[]): RequestProblem[] {
  return problems.map(({ path, detail }) => ({ pointer: pointerTo(path), detail }));
}

/** Returns the invalid parameters by name. */
export function parameterProblems(problems: readonly ValueProblem[]): RequestProblem[] {
  return problems.map(({ path, detail }) => ({ parameter: String(path[0] ?? ''), detail }));
}

/** Returns a path as a JSON pointer in a URI fragment. */
function pointerTo(path: readonly PropertyKey[]): string {
  const tokens = path.map((part) => `/${encodeURIComponent(shortened(String(part)).replaceAll('~', '~0').replaceAll('/', '~1'))}`);
  return `#${tokens.join('')}`;
}

/** Shortens a long name to whole characters: half of a surrogate pair cannot be encoded in a URI. */
function shortened(name: string): string {
  return (name.length > LONGEST_TOKEN ? `${name.slice(0, LONGEST_TOKEN)}…` : name).toWellFormed();
}

/** Returns the operator's report of an internal error. */
export function reportText(error: unknown, { id, method, path }: Parameters<ReportError>[1]): string {
  return `${method} ${path} failed (${id}): ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** Prints an internal error to standard error. */
export const printError: ReportError = (...failure) => {
  process.stderr.write(`${reportText(...failure)}\n`);
};
