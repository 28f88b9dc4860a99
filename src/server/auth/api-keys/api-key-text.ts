import { createHash, randomInt } from 'node:crypto';

/** Letters and digits alone: `_` separates the parts of a key, and a double click selects all of it. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const ID_LENGTH = 16;

/** 62 to the power of 43 is more than 2 to the power of 256. */
const SECRET_LENGTH = 43;

const KEY = new RegExp(`^lh_([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})$`);

/** The two parts of the text of a key. */
export interface ApiKeyParts {
  id: string;
  secret: string;
}

/** Makes the parts of a new key by the random numbers of the system. */
export function newApiKeyParts(): ApiKeyParts {
  return { id: randomText(ID_LENGTH), secret: randomText(SECRET_LENGTH) };
}

/** Returns the text that a caller sends. */
export function apiKeyText({ id, secret }: ApiKeyParts): string {
  return `lh_${id}_${secret}`;
}

/** Returns the parts of a key; undefined for another text. */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** Returns the SHA-256 of a secret. A slow hash is for passwords: no one can guess 256 random bits. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}
