/** The last words of a key that holds a credential, without separators. */
const CREDENTIALS = new Set([
  'apikey',
  'accesskey',
  'privatekey',
  'secretkey',
  'signingkey',
  'password',
  'passwd',
  'passphrase',
  'pwd',
  'secret',
  'credential',
  'authorization',
  'bearer',
  'accesstoken',
  'apitoken',
  'authtoken',
  'bearertoken',
  'oauthtoken',
  'refreshtoken',
  'sessiontoken',
]);

/**
 * True for a key that names a credential: `password`, `apiKey`, `client_secret`, `X-Api-Key`. The word `token` counts only if it
 * is the whole key, because other tokens are cursors or counts (`nextPageToken`, `tokenBudget`). Words after the credential give
 * the key another meaning (`passwordChangedAt`, `accessKeyId`).
 */
export function credentialKey(key: string): boolean {
  const words = wordsOf(key);
  if (words.length === 1 && words[0] === 'token') return true;
  return words.some((_, index) => CREDENTIALS.has(words.slice(index).join('').replace(/s$/, '')));
}

/** The words of which one is enough to keep a key out of a document. */
const CREDENTIAL_WORDS = [
  'api_key',
  'apikey',
  'token',
  'secret',
  'password',
  'passwd',
  'authorization',
  'credential',
  'private_key',
  'access_key',
  'auth_token',
  'bearer',
];

/**
 * True for a key that may name a credential: one of the keys of `credentialKey`, or one that contains such a word anywhere, in any
 * case. It takes too many keys rather than too few: `token_budget` is one.
 */
export function suspectedCredentialKey(key: string): boolean {
  const lowerCase = key.toLowerCase();
  return CREDENTIAL_WORDS.some((word) => lowerCase.includes(word)) || credentialKey(key);
}

/** Splits a key in camel, snake or kebab case into its words, in lower case. */
function wordsOf(key: string): string[] {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}
