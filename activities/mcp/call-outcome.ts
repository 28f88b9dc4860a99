import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { TOO_LARGE } from './message-text.ts';

/**
 * The outcome of a call. Messages come from the server or from Longhaul, and may contain anything: callers cut and
 * redact them.
 */
export type McpOutcome =
  | { type: 'answered'; result: unknown }
  /**
   * The server has answered with an error, which a repeated call would get again. `isOfSession`: the error concerns the session, which a
   * new connection does not share, and the call has not reached a tool.
   */
  | { type: 'refused'; message: string; isOfSession?: true }
  /** The server has not received the call. */
  | { type: 'not_sent'; message: string }
  /** The server may have received the call, and its effect is unknown. */
  | { type: 'lost'; message: string };

/** Failures of a connection that was never established. */
const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Errors of the client about an answer that arrived. */
const ANSWERED = new Set<SdkErrorCode>([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);

/** Returns the outcome that a call's error implies. */
export function outcomeOfError(error: unknown): McpOutcome {
  if (ProtocolError.isInstance(error)) return outcomeOfProtocolError(error);
  const posted = postedStatus(error);
  if (posted !== undefined) return { type: wasRefused(posted) ? 'not_sent' : 'lost', message: `HTTP ${posted}` };
  if (SdkHttpError.isInstance(error)) return { type: wasRefused(error.status) ? 'not_sent' : 'lost', message: `HTTP ${error.status}` };
  if (SdkError.isInstance(error)) return outcomeOfSdkError(error);
  const code = networkCode(error);
  if (code !== undefined) return { type: NO_CONNECTION.has(code) ? 'not_sent' : 'lost', message: code };
  return { type: isNotConnected(error) ? 'not_sent' : 'lost', message: errorMessage(error) };
}

/** The error code for headers that do not match the server's current schema: the server has read no further. */
const HEADER_MISMATCH = -32_020;

/** The error codes that servers send for a request outside a session. A failing tool has other codes. */
const SESSION_CODES = new Set([-32_000, -32_001, -32_002, -32_004, -32_600, 32_600, 400, 404]);

/**
 * Messages that only say that the server does not have the session: a tool may have its own sessions (`Browser session "a" not found in
 * …`).
 */
const SESSION_LOST = [
  /^(?:[a-z -]{1,30}: ?){0,2}(?:the |your |mcp |this ){0,2}session(?: ?id)?(?: (?:"[^"]{0,80}"|[\w-]{8,80}))?(?: (?:was|is|has been|has|does|id)){0,2} ?(?:not found|not exist|unknown|expired|terminated|invalid|lost|closed|ended|not valid|no longer valid|not initialized|missing|required)(?: or (?:has )?(?:expired|terminated|been terminated))?[.!]?$/i,
  /^(?:[a-z -]{1,30}: ?){0,2}(?:no valid|no such|no|unknown|invalid|expired|missing|invalid or expired|invalid or missing)(?: mcp)? session(?:[ -]?id)?(?: (?:provided|found|header|in request))?[.!]?$/i,
  /^(?:[a-z -]{1,30}: ?){0,2}(?:server|session) (?:is )?not (?:yet )?initialized[.!]?$/i,
];

function outcomeOfProtocolError({ code, message }: ProtocolError): McpOutcome {
  if (code === STREAM_ENDED) return { type: 'lost', message };
  if (code === TOO_LARGE) return { type: 'answered', result: { content: TOO_LARGE_RESULT } };
  if (code === HEADER_MISMATCH) return { type: 'not_sent', message };
  return { type: 'refused', message, ...(isSessionLost(code, message) ? { isOfSession: true } : {}) };
}

function isSessionLost(code: number, message: string): boolean {
  // The package writes the code in front of some messages.
  const text = message.replace(/^MCP error -?\d{1,10}: /, '').trim();
  return text.length <= 200 && SESSION_CODES.has(code) && SESSION_LOST.some((pattern) => pattern.test(text));
}

/** Returns the HTTP status of a refused connection; undefined for other errors. */
export function statusOf(error: unknown): number | undefined {
  for (const one of causes(error)) {
    if (SdkHttpError.isInstance(one)) return one.status;
    if (one instanceof SseError && one.code !== undefined) return one.code;
  }
  return postedStatus(error);
}

/** Reads the status from an error of the older transport, which only has it in its text. */
function postedStatus(error: unknown): number | undefined {
  const [, status] = (error instanceof Error ? /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message) : null) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** Returns why a server could not be reached, without any text from the server or from a header. */
export function connectProblem(error: unknown): string {
  if (ProtocolError.isInstance(error)) return `it refused the connection (${error.code})`;
  const status = statusOf(error);
  if (status !== undefined) return `HTTP ${status}`;
  return networkCode(error) ?? (SdkError.isInstance(error) ? codeWords(error.code) : error instanceof Error ? error.name : 'unknown error');
}

function outcomeOfSdkError(error: SdkError): McpOutcome {
  if (error.code === SdkErrorCode.NotConnected) return { type: 'not_sent', message: 'not connected' };
  if (!ANSWERED.has(error.code)) return { type: 'lost', message: codeWords(error.code) };
  return {
    type: 'refused',
    message: `the server answered with something that is not a result (${codeWords(error.code)}): the call may have taken effect`,
  };
}

/**
 * True for a status that says that the call was refused before it reached the tool: because of the caller (401, 403), the session (400,
 * 404) or the rate (429). A timeout (408) is inconclusive.
 */
function wasRefused(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408;
}

/** Returns the code of a network or operating system failure. */
function networkCode(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    if (SdkError.isInstance(cause) || typeof cause !== 'object' || cause === null || !('code' in cause)) continue;
    if (typeof cause.code === 'string' && /^[A-Z_]+$/.test(cause.code)) return cause.code;
  }
  return undefined;
}

/** Returns an error and its causes, up to five. */
function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  let cause = error;
  while (typeof cause === 'object' && cause !== null && found.length < 5) {
    found.push(cause);
    cause = 'cause' in cause ? cause.cause : undefined;
  }
  return found;
}

/** Recognizes an error that the client throws without a code. */
function isNotConnected(error: unknown): boolean {
  return error instanceof Error && error.message === 'Not connected';
}

/** Turns `CONNECTION_CLOSED` into `connection closed`. */
function codeWords(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}

/** The error code for a request whose stream has ended, from the range that the protocol leaves to implementations. */
const STREAM_ENDED = -32_099;

/** The model reads this in place of a result that is too large. It is no error: the call must not be repeated as it is. */
const TOO_LARGE_RESULT =
  '[The tool has acted, but its answer cannot be read: it has more than 10 MB, the most that one message of an MCP server may have. Ask for less]';

/** The requests that fail when their stream ends. The client handles other requests, such as the negotiation. */
const METHODS = new Set(['tools/call', 'tools/list']);

/**
 * Fails requests whose answer can no longer arrive. Over HTTP each request has its own stream; if that breaks and cannot be resumed, the
 * client would wait until the request times out.
 */
export function failAtStreamEnd(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
    if (!isJSONRPCRequest(message) || !METHODS.has(message.method)) return send(message, options);
    const { id } = message;
    // After an answer the client ignores this error.
    const onRequestStreamEnd = (): void =>
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_ENDED, message: 'connection closed' } });
    return send(message, { ...options, onRequestStreamEnd });
  };
}
