import type { RunHandle } from '../../../client/run-handle.ts';
import type { StreamedResult } from '../../../client/stream/stream-item.ts';
import { type ErrorCode, isErrorCode } from '../../../core/domain/errors.ts';
import type { RunResult } from '../../../core/domain/result.ts';
import { httpStatusOf, problemOf, type RefusalParts, type ReportError, RequestError, type RequestProblem } from '../../problems.ts';
import type { ServerSettings } from '../../server-options.ts';

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

/** The protocol's codes for errors that have another name there. */
const CODES: Partial<Record<ErrorCode, string>> = { unauthenticated: 'invalid_api_key', too_many_requests: 'rate_limit_exceeded' };

/** The longest parameter name in an error: an unknown parameter is named as it was sent. */
const LONGEST_PARAM = 500;

/** A status for which the package would retry the request, only to be refused again. */
const STATUS_OF_CONFLICT = 409;

/** Returns the protocol's error for any thrown value. Internal errors are reported to the operator. */
export function openaiErrorOf(error: unknown, request: { method: string; path: string }, report: ReportError): OpenaiErrorResponse {
  const { problem, headers } = problemOf(error, request, report);
  const openai: OpenaiParts = error instanceof OpenaiRefusal ? error.openai : {};
  // The protocol has one status for invalid requests. Only the status for a reused key stays separate.
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

/** Returns the name of the parameter with a problem, as the OpenAI protocol writes it: `messages[0].role`. */
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

/** The parts of an error that only the OpenAI protocol has. */
interface OpenaiParts {
  /** A protocol code in place of the error's code. */
  code?: string;
  /** The parameter that is refused. */
  param?: string;
  /** A status in place of the error's status. */
  status?: number;
}

/** An error in the terms of the OpenAI protocol. */
export class OpenaiRefusal extends RequestError {
  readonly openai: OpenaiParts;

  constructor(code: ErrorCode, message: string, openai: OpenaiParts, parts: RefusalParts & ErrorOptions = {}) {
    super(code, message, parts);
    this.openai = openai;
  }
}

/** Returns the error for a parameter, or a value of it, that the service does not support. */
export function unsupported(param: string, why: string): OpenaiRefusal {
  return new OpenaiRefusal('invalid_request', `"${param}" is not supported: ${why}`, { param, code: 'unsupported_parameter' });
}

/** Returns the error for a missing parameter. */
export function missing(param: string): OpenaiRefusal {
  return new OpenaiRefusal('invalid_request', `"${param}" is missing`, { param, code: 'missing_required_parameter' });
}

/** Returns the error for an invalid value of a parameter. */
export function invalidValue(param: string, why: string): OpenaiRefusal {
  return new OpenaiRefusal('invalid_request', `"${param}": ${why}`, { param, code: 'invalid_value' });
}

/** Returns the error for a model that the service does not have. `hint` names another one. */
export function modelNotFound(model: string, parts: RefusalParts = {}, hint = ''): OpenaiRefusal {
  const message = `The model "${model}" does not exist: "GET /v1/models" lists the agents of the service${hint}`;
  return new OpenaiRefusal('agent_not_found', message, { param: 'model', code: 'model_not_found' }, parts);
}

/** The header that keeps a client from retrying by itself. */
const NO_RETRY = { 'x-should-retry': 'false' } as const;

/** Returns the error of a run that has failed or was cancelled. A client that repeats the request gets it again. */
export function runFailed({ runId, agentName, status, error, errorCode, cancelReason }: EndedRun): OpenaiRefusal {
  const parts = { headers: { ...NO_RETRY, ...runHeaders(runId) } };
  if (errorCode === 'unknown_agent') return modelNotFound(agentName, parts);
  if (status === 'cancelled') {
    const why = cancelReason === undefined ? '' : `: ${cancelReason}`;
    return new OpenaiRefusal('run_ended', `Run "${runId}" was cancelled${why}`, { code: 'run_cancelled' }, parts);
  }
  const code: ErrorCode = isErrorCode(errorCode) ? errorCode : 'internal';
  const openai = { code, status: httpStatusOf(code) === 503 ? 503 : 500 };
  return new OpenaiRefusal('run_ended', `Run "${runId}" has failed: ${error ?? 'no reason is known'}`, openai, parts);
}

/** Returns the error of a chat completion stream whose text no longer matches the run. */
export function streamSuperseded(): OpenaiRefusal {
  const message =
    'The model was called again, and the text so far is not part of the answer: drop it, and send the request again with the same ' +
    '"Idempotency-Key" for the whole answer. The run continues';
  return new OpenaiRefusal('run_open', message, { code: 'stream_superseded', status: 500 });
}

/** Returns the error of a request that could not wait for its run any longer. It names what the run waits for. */
export async function waitTimedOut(
  handle: Pick<RunHandle<unknown>, 'runId' | 'status'>,
  { settings, idempotencyKey }: { settings: Pick<ServerSettings, 'closing'>; idempotencyKey: string | undefined },
): Promise<Error> {
  const { runId } = handle;
  // Without a key, the same request would start another run.
  const retry = idempotencyKey === undefined ? NO_RETRY : {};
  const parts = { headers: { ...retry, ...runHeaders(runId) }, retryAfterSeconds: 1 };
  const again =
    idempotencyKey === undefined
      ? `read its result from "/v1/runs/${encodeURIComponent(runId)}/result", and send an "Idempotency-Key" with the next request`
      : 'send the request again with the same "Idempotency-Key"';
  if (settings.closing.aborted) {
    return new RequestError('shutting_down', `The process of the service is about to end, and run "${runId}" continues: ${again}`, parts);
  }
  const { waitingFor } = await handle.status();
  const waits = waitingFor.length === 0 ? 'continues' : `waits for a decision about ${waitingFor.map((name) => `"${name}"`).join(', ')}`;
  return new OpenaiRefusal('wait_timeout', `Run "${runId}" ${waits}: ${again}`, {}, parts);
}

/** The part of a result that answers show, whether it comes from a handle or from the end of a stream. */
export interface EndedRun extends Pick<StreamedResult, 'runId' | 'agentName' | 'status' | 'stopReason' | 'usage' | 'endTime' | 'error'> {
  output: unknown;
  descendants?: StreamedResult['descendants'] | undefined;
  errorCode?: string | undefined;
  finishReason?: string | undefined;
  cancelReason?: string | undefined;
}

/** Codes of runs whose answer was withheld. */
const WITHHELD = new Set(['content_filter', 'model_refusal', 'guardrail_tripped']);

/** True if a guardrail, the provider or the model itself withheld the answer. */
export function wasWithheld({ stopReason, errorCode }: Pick<EndedRun, 'stopReason' | 'errorCode'>): boolean {
  return wasBlocked({ stopReason }) || (errorCode !== undefined && WITHHELD.has(errorCode));
}

/** True if a guardrail ended the run: its message is the output in place of an answer. */
export function wasBlocked({ stopReason }: Pick<EndedRun, 'stopReason'>): boolean {
  return stopReason === 'guardrail';
}

/** Returns the model's refusal, or undefined if it did not refuse. No recorded text has it. */
export function modelRefusal({ errorCode, error }: Pick<EndedRun, 'errorCode' | 'error'>): string | undefined {
  return errorCode === 'model_refusal' ? (error ?? '') : undefined;
}

/** True if the model was cut off in the answer. `lastFinish`: why it ended its last answer. */
export function wasCutOff({ status, finishReason }: Pick<EndedRun, 'status' | 'finishReason'>, lastFinish: string | undefined): boolean {
  // The answer may come from an agent that the run has called, and whose steps are not in the result.
  return status === 'completed' && (finishReason ?? lastFinish) === 'length';
}

/** Returns why the model ended its last answer. The result must have been requested with its steps. */
export function lastFinishOf({ steps }: Pick<RunResult<unknown>, 'steps'>): string | undefined {
  return steps?.at(-1)?.finishReason;
}

/** Returns the headers that name the run of a response. The package shows `x-request-id` with its errors and results. */
export function runHeaders(runId: string): Record<string, string> {
  // Headers only have ASCII characters.
  return { 'x-request-id': encodeURI(runId) };
}
