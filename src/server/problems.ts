import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { ERROR_CODES, type ErrorCode, errorCode, errorMessage, errorPage, LonghaulError, memberOf } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import { MOST_PROBLEMS } from './schemas/values.ts';

/** The body of a response that reports an error, as RFC 9457 has it. */
export interface Problem {
  /** The address at which the documentation describes the error. */
  type: string;
  /** What the code means, in a sentence. */
  title: string;
  /** The HTTP status of the response. */
  status: number;
  /** What is wrong with this request. For an error that the caller is not told: the id under which the service has logged it. */
  detail: string;
  /** Names the occurrence in the log of the service. Present if the error is not told to the caller. */
  instance?: string;
  /** The code of the error, for programs: `docs/errors.md` lists them. */
  code: ErrorCode;
  /** The parts of the request that do not have the shape that its route takes. Absent for other problems. */
  errors?: readonly RequestProblem[];
}

/** A problem, with the headers of its response. */
interface Refusal {
  problem: Problem;
  headers: Record<string, string>;
}

/** Reports an error that the caller is not told, under the id in the problem. */
export type ReportError = (error: unknown, occurrence: { id: string; method: string; path: string }) => void;

/** Returns a request as a report of its failure names it. */
export function reportedRequest({ method, url }: Request): { method: string; path: string } {
  return { method, path: new URL(url).pathname };
}

export function httpStatusOf(code: ErrorCode): number {
  const row = ERROR_CODES[code];
  return 'httpStatus' in row ? row.httpStatus : 500;
}

/** Errors of the service itself whose messages are for the caller. Those of other ones name addresses, keys and causes. */
const TOLD = new Set<ErrorCode>(['busy', 'wait_timeout', 'shutting_down']);

/** The seconds after which a caller may try again, by the code; otherwise `RETRY_AFTER_SECONDS`. */
const SHORT_WAITS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['busy', 'queue_full', 'too_many_requests', 'shutting_down']);
const RETRY_AFTER_SECONDS = { short: 1, usual: 5 };

/**
 * Returns the problem for any thrown value. The message of an error without a code, and of one that the caller can do nothing about,
 * is reported to the operator under an id and not told to the caller.
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

/** Returns the code of an error. A mistake of a developer, thrown by the client, is one of the caller of the service. */
function codeOf(error: unknown): ErrorCode {
  const code = errorCode(error);
  if (code !== undefined) return code;
  if (memberOf(error, 'name') === 'UsageError') return 'invalid_input';
  return grpcCode(error) === GRPC.resourceExhausted ? 'busy' : 'internal';
}

/** The most characters of a detail: messages quote parts of requests. */
const LONGEST_DETAIL = 2_000;

function detailOf(code: ErrorCode, error: unknown): string {
  // The client's own message names the namespace, and a command that the caller may not have.
  if (code === 'run_not_found') return 'The service has no run of that id for this caller.';
  if (grpcCode(error) !== undefined) return ERROR_CODES[code].description;
  const message = errorMessage(error);
  return message.length > LONGEST_DETAIL ? `${message.slice(0, LONGEST_DETAIL).toWellFormed()}…` : message;
}

/** The errors of the service that say what their response needs. Those of others may have `parts` of another kind. */
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

/** One part of a request that does not have the shape that its route takes. */
export interface RequestProblem {
  /** The part of the body, as a JSON pointer in a URI fragment: `#/limits/steps`. */
  pointer?: string;
  /** The parameter of the path, the query or the header, if the problem is not in the body. */
  parameter?: string;
  /** What is wrong with this part. */
  detail: string;
}

/** The parts of a response that only some refusals have. */
export interface RefusalParts {
  /** The parts of the request that do not have the shape that its route takes. Absent for other problems. */
  errors?: readonly RequestProblem[];
  /** The seconds after which the caller may try again. Default: those of the code. */
  retryAfterSeconds?: number;
  /** Further headers of the response, such as `Allow`. */
  headers?: Readonly<Record<string, string>>;
}

/** A request that the HTTP service refuses. Every protocol of the service throws it, and reports it in its own form. */
export class RequestError extends LonghaulError {
  /** The name of the class, which is equal in all copies of the package. */
  override readonly name = 'RequestError';
  /** What the response has besides code and message. @internal */
  readonly parts: RefusalParts;

  /** Makes the refusal of a request. A check of your own, such as `authenticate`, throws it. */
  constructor(code: ErrorCode, message: string, { cause, ...parts }: RefusalParts & ErrorOptions = {}) {
    super(code, message, defined({ cause }));
    this.parts = parts;
  }
}

type Issue = z.core.$ZodIssue;

/** The most characters of one part of a pointer: names of members are the caller's. */
const LONGEST_TOKEN = 100;

/** Returns the parts of a body that its schema refuses, by their JSON pointers. */
export function bodyProblems(issues: readonly Issue[]): RequestProblem[] {
  return flattenedIssues(issues)
    .slice(0, MOST_PROBLEMS)
    .map(({ path, detail }) => ({ pointer: pointerTo(path), detail }));
}

/** Returns the parameters that a schema refuses, by their names. */
export function parameterProblems(issues: readonly Issue[]): RequestProblem[] {
  return flattenedIssues(issues)
    .slice(0, MOST_PROBLEMS)
    .map(({ path, detail }) => ({ parameter: String(path[0] ?? ''), detail }));
}

/** Returns a path as a JSON pointer in a URI fragment. */
function pointerTo(path: readonly PropertyKey[]): string {
  const tokens = path.map((part) => `/${encodeURIComponent(shortened(String(part)).replaceAll('~', '~0').replaceAll('/', '~1'))}`);
  return `#${tokens.join('')}`;
}

/** A name without its end if it is long, of whole characters: half of a pair has no form in a URI. */
function shortened(name: string): string {
  return (name.length > LONGEST_TOKEN ? `${name.slice(0, LONGEST_TOKEN)}…` : name).toWellFormed();
}

interface FlatIssue {
  path: PropertyKey[];
  detail: string;
}

/** Names each unknown member by itself, and the closest form of a value that may have several. */
function flattenedIssues(issues: readonly Issue[], above: readonly PropertyKey[] = []): FlatIssue[] {
  return issues.flatMap((issue): FlatIssue[] => {
    const path = [...above, ...issue.path];
    if (issue.code === 'unrecognized_keys')
      return issue.keys.slice(0, MOST_PROBLEMS).map((key) => ({ path: [...path, key], detail: 'unknown member' }));
    const branches = issue.code === 'invalid_union' ? issue.errors.map((branch) => flattenedIssues(branch, path)) : [];
    // A value of the right form with a mistake in it has its problems below; a value of another form has one at its own place.
    const [closest] = branches
      .filter((branch) => branch.some((one) => one.path.length > path.length))
      .toSorted((a, b) => a.length - b.length);
    return closest ?? [{ path, detail: issue.message }];
  });
}

/** Returns the text by which an operator is told an error that a caller is not told. */
export function reportText(error: unknown, { id, method, path }: Parameters<ReportError>[1]): string {
  return `${method} ${path} failed (${id}): ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** Prints such an error to standard error. */
export const printError: ReportError = (...failure) => {
  process.stderr.write(`${reportText(...failure)}\n`);
};
