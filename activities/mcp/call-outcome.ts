import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type CallToolResult } from '@modelcontextprotocol/client';
import { STREAM_ENDED } from './stream-ends.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';

/**
 * The outcome of a call. Messages come from the server or from Longhaul, and may contain anything: callers cut and
 * redact them.
 */
export type McpOutcome =
  | { type: 'answered'; result: CallToolResult }
  /** The server has answered with an error: repeating the call gives the same. */
  | { type: 'refused'; message: string }
  /** The server has not received the call. */
  | { type: 'not_sent'; message: string }
  /** The server may have received the call, and its effect is unknown. */
  | { type: 'lost'; message: string };

/** Failures of a connection that was never established. */
const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Errors of the client about an answer that did arrive. */
const ANSWERED = new Set<SdkErrorCode>([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);

/** Returns the outcome that an error of a call implies. */
export function outcomeOfError(error: unknown): McpOutcome {
  if (ProtocolError.isInstance(error)) return { type: error.code === STREAM_ENDED ? 'lost' : 'refused', message: error.message };
  if (SdkHttpError.isInstance(error)) return { type: wasRefused(error.status) ? 'not_sent' : 'lost', message: `HTTP ${error.status}` };
  if (SdkError.isInstance(error)) return outcomeOfSdkError(error);
  const code = networkCode(error);
  if (code !== undefined) return { type: NO_CONNECTION.has(code) ? 'not_sent' : 'lost', message: code };
  return { type: isNotConnected(error) ? 'not_sent' : 'lost', message: errorMessage(error) };
}

/** Returns why a server could not be reached, without any text of the server or of a header. */
export function connectProblem(error: unknown): string {
  if (ProtocolError.isInstance(error)) return `it refused the connection (${error.code})`;
  const refusal = causes(error).find((one) => SdkHttpError.isInstance(one));
  if (refusal !== undefined) return `HTTP ${refusal.status}`;
  return networkCode(error) ?? (SdkError.isInstance(error) ? sentence(error.code) : error instanceof Error ? error.name : 'unknown error');
}

function outcomeOfSdkError(error: SdkError): McpOutcome {
  if (error.code === SdkErrorCode.NotConnected) return { type: 'not_sent', message: 'not connected' };
  if (!ANSWERED.has(error.code)) return { type: 'lost', message: sentence(error.code) };
  return { type: 'refused', message: `the server answered with what is no result (${sentence(error.code)})` };
}

/**
 * True for a status with which the call was refused before it reached the tool: because of the caller (401, 403), the
 * session (400, 404) or the rate (429). A timeout (408) is inconclusive.
 */
function wasRefused(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408;
}

/** Returns the code of a failure of the network or of the operating system. */
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

/** Recognises an error that the client throws without a code. */
function isNotConnected(error: unknown): boolean {
  return error instanceof Error && error.message === 'Not connected';
}

/** Turns `CONNECTION_CLOSED` into `connection closed`. */
function sentence(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}
