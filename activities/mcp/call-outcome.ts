import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type CallToolResult } from '@modelcontextprotocol/client';
import { STREAM_ENDED } from './stream-ends.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';

/** What became of a call. Messages are the server's or ours, and may hold anything: they are cut and redacted where they are used. */
export type McpOutcome =
  | { type: 'answered'; result: CallToolResult }
  /** The server has answered, with something else than a result: asking again gives the same. */
  | { type: 'refused'; message: string }
  /** The server has not got the call. */
  | { type: 'not_sent'; message: string }
  /** The server may have got the call, and nobody knows what it did. */
  | { type: 'lost'; message: string };

/** Failures of a connection that did not come about. */
const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Errors of the client that are about an answer which did come. */
const ANSWERED = new Set<SdkErrorCode>([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);

/** What an error of a call says about the call. */
export function outcomeOfError(error: unknown): McpOutcome {
  if (ProtocolError.isInstance(error)) return { type: error.code === STREAM_ENDED ? 'lost' : 'refused', message: error.message };
  if (SdkHttpError.isInstance(error)) return { type: wasTurnedAway(error.status) ? 'not_sent' : 'lost', message: `HTTP ${error.status}` };
  if (SdkError.isInstance(error)) return outcomeOfSdkError(error);
  const code = networkCode(error);
  if (code !== undefined) return { type: NO_CONNECTION.has(code) ? 'not_sent' : 'lost', message: code };
  return { type: isNotConnected(error) ? 'not_sent' : 'lost', message: errorMessage(error) };
}

/** Why a server could not be reached, without anything that the server or a header has said. */
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

/** Between the client and the tool somebody has said no: who asks (401, 403), for what session (400, 404), how often (429). A time-out (408) says nothing. */
function wasTurnedAway(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408;
}

/** The code of a failure of the network or of the operating system. */
function networkCode(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    if (SdkError.isInstance(cause) || typeof cause !== 'object' || cause === null || !('code' in cause)) continue;
    if (typeof cause.code === 'string' && /^[A-Z_]+$/.test(cause.code)) return cause.code;
  }
  return undefined;
}

/** An error and what caused it, as far as that is of interest. */
function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  let cause = error;
  while (typeof cause === 'object' && cause !== null && found.length < 5) {
    found.push(cause);
    cause = 'cause' in cause ? cause.cause : undefined;
  }
  return found;
}

/** The client throws this one without a code. */
function isNotConnected(error: unknown): boolean {
  return error instanceof Error && error.message === 'Not connected';
}

/** `CONNECTION_CLOSED` as `connection closed`. */
function sentence(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}
