/** Returns a text that nobody guesses. `crypto.randomUUID` is there only for pages that came by https or from this machine. */
export function randomText(bytes = 32): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** Returns bytes as a text that addresses and headers take as it is. */
export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
