import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../src/core/domain/json.ts';
import type { ModelRequest } from '../../src/core/domain/model.ts';

/** The length of a digest: 132 bits in base64url. */
const DIGEST_LENGTH = 22;

/** Returns a digest of a request as it is made from the conversation alone: equal requests have equal ones on every worker. */
export function requestDigest(request: ModelRequest): string {
  const plain = JSON.parse(JSON.stringify(request)) as JsonValue;
  return createHash('sha256').update(canonicalJson(plain)).digest('base64url').slice(0, DIGEST_LENGTH);
}
