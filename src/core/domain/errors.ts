/** A row of the table of errors. */
interface ErrorRow {
  readonly retryable: boolean;
  /** The status of the HTTP response that reports the error. Absent: 500. */
  readonly httpStatus?: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 503;
  readonly description: string;
  /**
   * The severity of a failed program step, from 1 to 6. Only errors of steps have one. A row that has only a `seedName` is written without
   * it.
   */
  readonly level?: 1 | 2 | 3 | 4 | 5 | 6;
  /** The name of the error in AXON, used in texts for models and for AXON's users. */
  readonly seedName?: string;
}

/**
 * Every way in which a run or a call can fail. A code is also the `type` of the ApplicationFailure that carries the error through
 * Temporal, so this table decides which failures are retried. The HTTP service reports an error by its code, with the status of its row.
 */
export const ERROR_CODES = {
  // The run cannot start, or cannot continue.
  invalid_input: { retryable: false, httpStatus: 422, description: 'The input of the run does not have the expected shape.' },
  // Problems of the worker that took the task: the run tries the task on other workers before it ends.
  unknown_agent: {
    retryable: false,
    httpStatus: 422,
    description: 'No worker that the run waited for has an agent with that name.',
  },
  unknown_provider: {
    retryable: false,
    httpStatus: 422,
    description: 'No worker that the run waited for has a model provider with that name.',
  },
  unknown_guardrail: {
    retryable: false,
    httpStatus: 422,
    description: 'No worker that the run waited for has a guardrail of the run.',
  },
  unknown_tool: {
    retryable: false,
    httpStatus: 422,
    description: 'No worker that the run waited for has a tool of the run, or its MCP server.',
  },
  unknown_hook: { retryable: false, httpStatus: 422, description: 'No worker that the run waited for has a hook of the run.' },
  hook_denied: { retryable: false, httpStatus: 403, description: 'A hook denied the model call.' },
  invalid_agent: { retryable: false, httpStatus: 422, description: 'The agent could not be resolved: its definition is invalid.' },
  instructions_failed: { retryable: true, description: "The agent's function for its instructions threw." },
  invalid_output: {
    retryable: false,
    description:
      'The answer did not fit the output schema in the attempts allowed, or a reference in the output of a program leads to no value.',
  },
  payload_too_large: {
    retryable: false,
    httpStatus: 413,
    description: 'A value is larger than a run takes, or than Temporal stores in one payload.',
  },
  transcript_unavailable: { retryable: true, httpStatus: 503, description: 'The conversation could not be read from the workflow.' },
  // Retryable because another worker of the queue may have it, for example during a deploy; attempts are always bounded.
  secret_missing: {
    retryable: true,

    description: 'This worker has no value for a secret, or none that can be kept out of the history.',
  },
  secret_unavailable: { retryable: true, httpStatus: 503, description: 'A source of secrets failed or did not answer.' },
  mcp_unreachable: {
    retryable: true,
    httpStatus: 503,
    description: 'An MCP server of the agent cannot be reached, or does not list its tools.',
  },
  internal: { retryable: false, description: 'A defect: code that must not throw has thrown.' },
  // A running run refuses a request.
  busy: { retryable: true, httpStatus: 503, description: 'The run accepts no requests until it has continued in its next execution.' },
  queue_full: { retryable: true, httpStatus: 429, description: 'Too many messages wait in the queue of the run.' },
  session_limit: {
    retryable: false,
    httpStatus: 409,
    description: 'The session has reached one of its limits: it accepts no messages until the limit is raised.',
  },
  unknown_call: { retryable: false, httpStatus: 404, description: 'No call with that id is waiting for a decision.' },
  call_not_found: { retryable: false, httpStatus: 404, description: 'The run has made no call with that id.' },
  unknown_step: { retryable: false, httpStatus: 404, description: 'The run has no step with that number.' },
  ambiguous_call: {
    retryable: false,
    httpStatus: 409,
    description: 'Calls with that id are waiting in several runs: the decision must name the run.',
  },
  budget_exceeded: {
    retryable: false,
    httpStatus: 409,
    description: 'The parent gave the run no larger share of that limit: raise the limit of the root.',
  },
  digest_mismatch: { retryable: false, httpStatus: 409, description: 'The decision was made for other arguments than the call has.' },
  already_decided: { retryable: false, httpStatus: 409, description: 'The call was already decided, differently or by another decision.' },
  invalid_arguments: {
    retryable: false,
    httpStatus: 422,
    description: 'The edited arguments or the answer do not fit the schema of the tool.',
  },
  not_permitted: { retryable: false, httpStatus: 403, description: 'The permissions of the run do not allow it.' },
  not_authorized: { retryable: false, httpStatus: 403, description: 'The worker does not allow this approver to decide.' },
  authorization_failed: { retryable: true, httpStatus: 503, description: 'The worker could not check whether the approver may decide.' },
  notification_failed: { retryable: true, description: 'The notification about a pending approval failed.' },
  resource_unavailable: {
    retryable: true,
    httpStatus: 503,
    description: 'A live object of the worker, such as a pool, could not be opened.',
  },
  verification_failed: { retryable: true, description: 'The tool could not report the outcome of a call whose answer was lost.' },
  run_ended: { retryable: false, httpStatus: 409, description: 'The run has ended: it accepts no more messages.' },
  // The client cannot fulfill a request.
  run_not_found: { retryable: false, httpStatus: 404, description: 'The namespace has no run with that id.' },
  not_a_run: { retryable: false, httpStatus: 404, description: 'The workflow with that id is not a run of an agent.' },
  run_exists: { retryable: false, httpStatus: 409, description: 'A run with that id already exists.' },
  run_open: { retryable: false, httpStatus: 409, description: 'The run is still running.' },
  history_removed: {
    retryable: false,
    httpStatus: 410,
    description: 'The server has removed the beginning of the run: its retention period is over.',
  },
  history_unreadable: { retryable: false, description: 'The loop of this release does not reproduce the history of the run.' },
  run_terminated: { retryable: false, httpStatus: 409, description: 'An operator terminated the run: it has no result.' },
  run_timed_out: {
    retryable: false,
    httpStatus: 409,
    description: 'The server ended the run at a timeout of the workflow: it has no result.',
  },
  namespace_not_found: { retryable: false, httpStatus: 503, description: 'The Temporal server has no namespace with that name.' },
  server_unreachable: {
    retryable: true,
    httpStatus: 503,
    description: 'No Temporal server answers at that address, or it no longer answers.',
  },
  archive_failed: { retryable: true, httpStatus: 503, description: 'The archive could not store or read the record of a run.' },
  payload_store_failed: {
    retryable: true,
    httpStatus: 503,
    description: 'The payload store could not store or read the spilled content of a run.',
  },
  streams_failed: {
    retryable: true,
    httpStatus: 503,
    description: 'The sink of live output could not remove the data of a run.',
  },
  spilled_unavailable: { retryable: false, httpStatus: 410, description: 'The payload store does not have the spilled content.' },
  spilled_not_found: { retryable: false, httpStatus: 404, description: 'The run has spilled no content with that digest.' },
  wait_timeout: { retryable: true, httpStatus: 503, description: 'The wait ended before the run did. The run continues.' },
  // A payload cannot be encoded or read.
  encryption_key_missing: { retryable: true, description: 'This process lacks the encryption key that a payload needs.' },
  decryption_failed: { retryable: false, description: 'A payload cannot be decrypted: it was encrypted with another key, or changed.' },
  decompression_failed: { retryable: false, description: 'A compressed payload cannot be decompressed: it was changed, or is too large.' },
  // The model call failed.
  model_bad_request: { retryable: false, description: 'The provider rejected the request (400).' },
  model_unauthorized: { retryable: false, description: 'The provider rejected the credentials (401).' },
  model_forbidden: { retryable: false, description: 'The provider denies access (403).' },
  model_not_found: { retryable: false, description: 'The provider does not know the model or the path (404).' },
  model_request_timeout: { retryable: true, description: 'The provider gave up waiting for the request (408).' },
  model_conflict: { retryable: true, description: 'The provider reports a conflict (409).' },
  model_request_too_large: { retryable: false, description: 'The request is too large for the provider (413).' },
  model_unprocessable: { retryable: false, description: 'The provider cannot process the request (422).' },
  model_rate_limited: { retryable: true, httpStatus: 503, description: 'The provider limits the rate (429).' },
  model_quota_exceeded: { retryable: false, description: 'The account has no quota or credit left (429 that a retry cannot resolve).' },
  model_server_error: { retryable: true, description: 'The provider failed (5xx).' },
  model_timeout: { retryable: true, description: 'The provider did not answer in time.' },
  model_unreachable: { retryable: true, httpStatus: 503, description: 'No connection to the provider, or it broke.' },
  model_bad_response: { retryable: true, description: 'The answer of the provider does not conform to its API.' },
  model_no_answer: { retryable: true, description: 'The model gave no answer: it is empty, has only reasoning, or is incomplete.' },
  model_error: { retryable: false, description: 'The model client failed in another way, and reports that a retry is of no use.' },
  model_client_failed: { retryable: true, description: 'The model client threw an error of an unknown kind.' },
  context_length_exceeded: { retryable: false, description: 'The conversation is longer than the model accepts.' },
  content_filter: { retryable: false, description: 'The provider withheld the answer (content filter).' },
  model_refusal: { retryable: false, description: 'The model refused to answer.' },
  // A guardrail refused the run's messages or its answer.
  guardrail_tripped: { retryable: false, description: 'A guardrail of the agent has blocked the request or the answer.' },
  // A step of a program failed. Its refine block determines the attempts.
  validation_failed: {
    retryable: false,
    level: 1,
    seedName: 'ValidationError',
    description: 'The answer does not fit the declarations of its step.',
  },
  confidence_too_low: {
    retryable: false,
    level: 2,
    seedName: 'ConfidenceError',
    description: 'The answer declares less confidence than its step requires.',
  },
  step_rejected: { retryable: false, level: 5, seedName: 'AxonRuntimeError', description: 'A person has rejected the step or its output.' },
  tool_failed: { retryable: false, level: 5, seedName: 'AxonRuntimeError', description: 'The tool call of the step failed.' },
  child_failed: {
    retryable: false,
    level: 5,
    seedName: 'AxonRuntimeError',
    description: 'The agent or the program that the step runs did not complete.',
  },
  memory_failed: {
    retryable: true,
    httpStatus: 503,
    level: 5,
    seedName: 'AxonRuntimeError',
    description: 'The memory could not store or find a value.',
  },
  memory_missing: { retryable: false, description: 'The program uses a memory, and the worker has none.' },
  unknown_program: {
    retryable: false,
    httpStatus: 422,
    description: 'No worker that the run waited for has a program with that name.',
  },
  invalid_program: { retryable: false, httpStatus: 422, description: 'The program has problems: it cannot run.' },
  // AXON reports it as a ValueError, without a severity.
  empty_answer: { retryable: false, seedName: 'ValueError', description: 'The model answered without any text.' },
  anchor_breach: { retryable: false, level: 3, seedName: 'AnchorBreachError', description: 'The answer breaches an anchor.' },
  refine_exhausted: { retryable: false, level: 4, seedName: 'RefineExhaustedError', description: 'All attempts of the step failed.' },
  model_call_failed: { retryable: false, level: 5, seedName: 'ModelCallError', description: 'The model call of the step failed.' },
  step_failed: {
    retryable: false,
    level: 5,
    seedName: 'AxonRuntimeError',
    description: 'The step failed in another way, for example in its tool.',
  },
  step_timeout: {
    retryable: false,
    level: 6,
    seedName: 'ExecutionTimeoutError',
    description: 'An attempt of the step took longer than its timeout.',
  },
  memory_unavailable: { retryable: true, httpStatus: 503, description: 'The memory of programs could not be read or written.' },
  // The HTTP service refuses a request.
  malformed_request: { retryable: false, httpStatus: 400, description: 'The request cannot be read: it is not JSON, or not valid HTTP.' },
  invalid_cursor: {
    retryable: false,
    httpStatus: 400,
    description: 'The cursor does not come from the service, or belongs to another list.',
  },
  unauthenticated: { retryable: false, httpStatus: 401, description: 'The request has no credentials, or wrong or expired ones.' },
  tokens_off: { retryable: false, httpStatus: 409, description: 'The service has no secret for run tokens.' },
  too_many_requests: {
    retryable: true,
    httpStatus: 429,
    description: 'The caller has reached a limit of the service: wait, and try again.',
  },
  forbidden: { retryable: false, httpStatus: 403, description: 'The credentials of the request do not allow it.' },
  route_not_found: { retryable: false, httpStatus: 404, description: 'The service has nothing at that path.' },
  agent_not_found: { retryable: false, httpStatus: 404, description: 'The service has no agent with that name.' },
  program_not_found: { retryable: false, httpStatus: 404, description: 'The service has no program with that name.' },
  method_not_allowed: { retryable: false, httpStatus: 405, description: 'The service does not allow that method at that path.' },
  body_too_large: { retryable: false, httpStatus: 413, description: 'The body of the request is larger than the service accepts.' },
  unsupported_media_type: { retryable: false, httpStatus: 415, description: 'The service does not accept bodies of that type.' },
  invalid_request: { retryable: false, httpStatus: 422, description: 'The request does not have the shape that its route expects.' },
  key_reused: {
    retryable: false,
    httpStatus: 422,
    description: 'The idempotency key, or the id of a request, was used for another request.',
  },
  shutting_down: { retryable: true, httpStatus: 503, description: 'The process of the service is about to end.' },
} as const satisfies Record<string, ErrorRow>;

/** The identity of an error. Compare codes, never classes: classes do not survive Temporal or a second copy of a package. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The page that describes every error, with an anchor for each code. Generated by `npm run docs`. */
const ERRORS_PAGE = 'https://github.com/longhaul-agents/longhaul/blob/main/docs/errors.md';

/** Returns the URL of an error's description. It is also the `type` of the HTTP service's problem responses. */
export function errorPage(code: ErrorCode): string {
  return `${ERRORS_PAGE}#${code}`;
}

/** True for the codes of the table. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}

/** An error of a run or a call. Its message says what happened, names the thing in quotes, and says what to do next. */
export class LonghaulError extends Error {
  /** The name of the class, the same in all copies of the package. */
  override readonly name: string = 'LonghaulError';
  /** The kind of error: the table of errors describes each code. */
  readonly code: ErrorCode;

  /** Creates an error with a code and, optionally, its cause. */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A failed model call. `retryAfterMs` is the wait that the provider requested. */
export class ModelCallError extends LonghaulError {
  /** The name of the class, the same in all copies of the package. */
  override readonly name = 'ModelCallError';
  /** Milliseconds that the provider asks callers to wait. */
  readonly retryAfterMs: number | undefined;

  /** Creates the error of a model call. Throw it in your own model client. */
  constructor(code: ErrorCode, message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A mistake of the developer: thrown when something is defined or called, before any effect. */
export class UsageError extends Error {
  /** The name of the class, the same in all copies of the package. */
  override readonly name = 'UsageError';
}

/** Returns the code of an error of any class, or undefined for an error without a code from the table. */
export function errorCode(error: unknown): ErrorCode | undefined {
  const code = memberOf(error, 'code');
  return isErrorCode(code) ? code : undefined;
}

/** Returns the message of any thrown value. Never throws. */
export function errorMessage(error: unknown): string {
  const message = memberOf(error, 'message');
  return typeof message === 'string' ? message : thrownText(error);
}

/**
 * Returns the message of what a user's function threw, with the messages of the errors in an `AggregateError`, and with the code of the cause
 * if the message lacks it: the message of a failed `fetch` alone says nothing. The rest of a cause may have addresses and secrets. Never
 * throws.
 */
export function thrownMessage(error: unknown): string {
  const message = memberOf(error, 'message');
  if (typeof message !== 'string') return thrownValue(error);
  const whole = withAggregated(message, memberOf(error, 'errors'));
  const code = causeCode(error);
  return code === undefined || whole.includes(code) ? whole : `${whole} (${code})`.trimStart();
}

/** The most errors of an `AggregateError` whose messages are told. */
const MOST_AGGREGATED = 5;

function withAggregated(message: string, errors: unknown): string {
  if (!isList(errors)) return message;
  const told = errors.slice(0, MOST_AGGREGATED).flatMap((one) => {
    const inner = memberOf(one, 'message') ?? thrownText(one);
    return typeof inner === 'string' && inner !== '' && !message.includes(inner) ? [inner] : [];
  });
  if (told.length === 0) return message;
  const more = errors.length > MOST_AGGREGATED ? `; and ${errors.length - MOST_AGGREGATED} more` : '';
  return `${message === '' ? '' : `${message}: `}${[...new Set(told)].join('; ')}${more}`;
}

/** Even asking whether a proxy is a list may throw. */
function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

const MOST_CAUSES = 4;

/** Codes of the system, of TLS and of `fetch`, such as `ECONNREFUSED`: not those of the other modules of Node, which say no more than a message. */
const CONNECTION_CODE = /^(?!ERR_(?!TLS)|Z_)[A-Z][A-Z0-9_]{1,49}$/;

/** Returns the first code of a connection among the causes. */
function causeCode(error: unknown): string | undefined {
  let cause = memberOf(error, 'cause');
  for (let level = 0; level < MOST_CAUSES && cause !== undefined; level += 1) {
    const code = memberOf(cause, 'code');
    if (typeof code === 'string' && CONNECTION_CODE.test(code)) return code;
    cause = memberOf(cause, 'cause');
  }
  return undefined;
}

/**
 * Functions that read a thrown value. It may be any value: reading a member may throw, and so may any access to a proxy. None of these
 * functions throws.
 */

/** Returns a member of a thrown value, or undefined if it is absent or cannot be read. */
export function memberOf(thrown: unknown, name: string): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return undefined;
  try {
    return Reflect.get(thrown, name) as unknown;
  } catch {
    return undefined;
  }
}

/** True for an instance of `type`. False if the test itself throws. */
export function isInstance<Value>(thrown: unknown, type: abstract new (...args: never[]) => Value): thrown is Value {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** The most members that are told of a thrown object. */
const MOST_MEMBERS = 10;

/** Nested members, such as the request of an HTTP client, may be large and have secrets. */
function isShort(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= 200);
}

/** Returns a text for a thrown value without a message. An object is told by its short members. */
function thrownValue(thrown: unknown): string {
  const text = thrownText(thrown);
  if (thrown === undefined || thrown === null) return `${text} was thrown instead of an error`;
  if (!text.startsWith('[object ')) return text;
  try {
    const members = Object.entries(thrown).filter(([, value]) => isShort(value));
    if (members.length === 0) return `${text} was thrown instead of an error`;
    return `an object was thrown instead of an error: ${JSON.stringify(Object.fromEntries(members.slice(0, MOST_MEMBERS)))}`;
  } catch {
    return text;
  }
}

/** Converts a thrown value to text like `String`. If that throws, returns a text that says so. */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return '[What was thrown cannot be shown as text]';
  }
}

/**
 * The messages of connection errors, as gRPC, Node and the SDK's Rust core write them, and their meaning. The first match counts: causes
 * come before their consequences.
 */
const REASONS: readonly (readonly [says: RegExp, reason: string])[] = [
  [/ECONNREFUSED|Connection refused/i, 'nothing listens there'],
  [/ENOTFOUND|EAI_AGAIN|dns error|Name resolution failed|failed to lookup address|Name or service not known/i, 'the host is not known'],
  [/certificate|CERT_|UnknownIssuer|handshake|SSL routines|tls|InvalidContentType|corrupt message/i, 'no TLS connection could be made'],
  [/UNAUTHENTICATED|code: Unauthenticated|invalid api.?key|unauthorized/i, 'it does not accept the credentials'],
  [/PERMISSION_DENIED|code: PermissionDenied/i, 'the credentials have no permission'],
  [/RESOURCE_EXHAUSTED|code: ResourceExhausted/i, 'it takes no more requests at the moment'],
  [
    /ECONNRESET|socket hang up|broken pipe|connection reset|GOAWAY|Connection dropped|h2 protocol error|connection error/i,
    'the connection was cut',
  ],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|DEADLINE|deadline|timed out|timeout/i, 'no answer in time'],
  [/UNAVAILABLE|code: Unavailable|transport error/i, 'it is not available'],
];

/** The start of a gRPC message: `14 UNAVAILABLE: `. */
const STATUS = /^\d{1,2} [A-Z_]+: /;

/** Returns why a server cannot be reached, in plain words. An unknown reason is returned unchanged, on one line. */
export function connectionReason(error: unknown): string {
  const text = errorMessage(error);
  const known = REASONS.find(([says]) => says.test(text));
  return known?.[1] ?? text.replace(STATUS, '').replace(/\s+/g, ' ').trim();
}

/** True for a message of the SDK's Rust core about a call to the server. */
export function isOfConnection(text: string): boolean {
  return /^gRPC call |\bStatus \{ code: |tonic::transport/.test(text);
}
