import { errorMessage } from './error.ts';

/**
 * What errors of a connection say, in the words of gRPC, of Node and of the SDK's Rust core, and what that means. The first one that
 * matches counts: causes before what follows from them.
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

/** The start of a message of gRPC: `14 UNAVAILABLE: `. */
const STATUS = /^\d{1,2} [A-Z_]+: /;

/** Returns why a server cannot be reached, in plain words; an unknown reason in its own words, on one line. */
export function connectionReason(error: unknown): string {
  const text = errorMessage(error);
  const known = REASONS.find(([says]) => says.test(text));
  return known?.[1] ?? text.replace(STATUS, '').replace(/\s+/g, ' ').trim();
}

/** True for a text in the words of the SDK's Rust core about a call to the server. */
export function isOfConnection(text: string): boolean {
  return /^gRPC call |\bStatus \{ code: |tonic::transport/.test(text);
}
