import { canonicalJson, type JsonObject } from '../json/json.ts';
import { sha256 } from '../json/sha256.ts';

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 132 bits in base64url, as in the digest of a snapshot. */
const DIGEST_LENGTH = 22;

/**
 * Returns the digest that binds a decision to a call: equal calls have equal digests. It depends on nothing that only the workflow
 * knows, so a run that is read back from its history lists the same.
 */
export function callDigest(name: string, args: JsonObject): string {
  const words = sha256(canonicalJson({ name, arguments: args }));
  const bits = words.map((word) => word.toString(2).padStart(32, '0')).join('');
  return Array.from({ length: DIGEST_LENGTH }, (_, index) => BASE64URL[Number.parseInt(bits.slice(6 * index, 6 * index + 6), 2)]).join('');
}
