import { isInstance, memberOf } from '../../../src/core/domain/errors/thrown.ts';
import { forPatterns } from './error-body.ts';

/** The most causes that are followed: the libraries below `fetch` do not nest deeper. */
const MOST_CAUSES = 5;

/** Codes of the system, of `fetch`, of streams and of compression for a broken connection. */
const BROKEN_CODE = /^(?:E[A-Z0-9]{3,}|EAI_\w+|UND_ERR_\w+|ERR_STREAM_\w+|ERR_HTTP2_\w+|ERR_SSL_\w+|ERR_TLS_\w+|HPE_\w+|Z_\w+)$/;

/** A code that can be shown: it contains nothing of the request. */
const WORD = /^[A-Z][A-Z0-9_]{2,50}$/;

/** Messages that `fetch` and streams use instead of a code. */
const BROKEN_TEXT = /^(?:terminated|fetch failed|network error|premature close|socket hang up|other side closed)$/i;

/** True for a connection that could not be made or broke, at any depth of the chain of causes. */
export function isBrokenConnection(error: unknown): boolean {
  const chain = causesOf(error);
  if (textsOf(chain, 'code').some((code) => BROKEN_CODE.test(code))) return true;
  if (textsOf(chain, 'message').some((message) => BROKEN_TEXT.test(message))) return true;
  // An error of `fetch` has a code in its causes; a defect of Longhaul has none.
  return isInstance(error, TypeError) && textsOf(chain, 'code').length > 0;
}

/**
 * Returns why the connection broke in one word, if there is one: a code (`ECONNRESET`, `UND_ERR_SOCKET`), otherwise
 * `terminated` and the like.
 */
export function whyBroken(error: unknown): string | undefined {
  const chain = causesOf(error);
  return textsOf(chain, 'code').find((code) => WORD.test(code)) ?? textsOf(chain, 'message').find((message) => BROKEN_TEXT.test(message));
}

function textsOf(chain: readonly unknown[], name: 'code' | 'message'): string[] {
  return chain
    .map((one) => memberOf(one, name))
    .filter((one) => typeof one === 'string')
    .map(forPatterns);
}

/** Returns an error and its causes, up to the limit. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let current = error; current !== undefined && chain.length < MOST_CAUSES; current = memberOf(current, 'cause')) chain.push(current);
  return chain;
}
