/**
 * Matches texts that look like a credential: a key with a well-known prefix (also masked, as providers echo it), or a
 * bearer token.
 */
const CREDENTIALS = /\b(?:sk|gsk|xai)-[\w*.-]{6,}|\bBearer\s+[\w.~+/=-]{8,}/gi;

/** The length below which a value is not redacted: it would be found in ordinary words. */
const SHORTEST_SECRET = 6;

/** Returns `text` without the given secrets and without texts that look like a credential. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets.map((value) => value.trim())) {
    if (secret.length >= SHORTEST_SECRET) clean = clean.replaceAll(secret, '[redacted]');
  }
  return clean.replace(CREDENTIALS, '[redacted]');
}
