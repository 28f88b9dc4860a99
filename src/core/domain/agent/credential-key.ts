/** What a key that holds a credential ends in, without what separates its words. */
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
 * True for a key that names a credential: `password`, `apiKey`, `client_secret`, `X-Api-Key`. A `token` of any other
 * kind may be a place in a list or a count (`nextPageToken`, `tokenBudget`), so that alone it counts only as the whole
 * key, and words behind the credential make something else of it (`passwordChangedAt`, `accessKeyId`).
 */
export function credentialKey(key: string): boolean {
  const words = wordsOf(key);
  if (words.length === 1 && words[0] === 'token') return true;
  return words.some((_, index) => CREDENTIALS.has(words.slice(index).join('').replace(/s$/, '')));
}

/** The words of a key in camel, snake or kebab case, in small letters. */
function wordsOf(key: string): string[] {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}
