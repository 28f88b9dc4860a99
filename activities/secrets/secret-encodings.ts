import { credentialKey } from '../../src/core/domain/agent/credential-key.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';

/** The length below which a secret would be found in ordinary words. In UTF-16 code units. */
export const SHORTEST_SECRET = 4;

type Encoder = (text: string) => string;

/** Encodings by which a secret may appear in another text. None of these throws for well-formed UTF-16. */
const ENCODERS: readonly Encoder[] = [
  jsonEscaped,
  (text) => jsonEscaped(text).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  encodeURIComponent,
  (text) => encodeURIComponent(text).replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
  (text) => encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`),
  encodeURI,
  (text) => new URLSearchParams({ '': text }).toString().slice(1),
];

/**
 * Returns every text by which a secret can be recognised: the value itself, trimmed, and its parts that are secrets
 * (the password of a URL, a JSON member with the name of a credential); each escaped for JSON and for URLs, up to
 * twice; each in hexadecimal, and in base64 at any offset of the encoded bytes. None is shorter than `SHORTEST_SECRET`.
 */
export function secretEncodings(value: string): string[] {
  const secrets = longEnough([value, value.trim(), ...passwordsOf(value), ...credentialsOf(value)].map((text) => text.toWellFormed()));
  const escaped = withEncoded(secrets, ENCODERS);
  const bytes = withEncoded(secrets, [jsonEscaped]).flatMap((text) => [...base64Encodings(text), ...hexEncodings(text)]);
  return longEnough([...withEncoded(escaped, ENCODERS), ...withEncoded(bytes, [encodeURIComponent])]);
}

/** Returns a text as it appears between the quotes of JSON. */
export function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function withEncoded(texts: readonly string[], encoders: readonly Encoder[]): string[] {
  return [...new Set([...texts, ...texts.flatMap((text) => encoders.map((encode) => encode(text)))])];
}

/**
 * Returns the base64 of a text, whole and as part of the base64 of a longer text. Three bytes make four characters, so
 * the encoding depends on the offset, and the characters at the edges also depend on the neighbouring bytes.
 */
function base64Encodings(text: string): string[] {
  const bytes = Buffer.from(text);
  const whole = bytes.toString('base64');
  const fragments = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/={1,2}$/, '');
    const isPartial = (before + bytes.length) % 3 !== 0;
    return encoded.slice(before === 0 ? 0 : before + 1, isPartial ? -1 : undefined);
  });
  const standard = [whole, ...fragments];
  return [...standard, ...standard.map((one) => one.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))];
}

function hexEncodings(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  return [hex, hex.toUpperCase()];
}

/** Returns the password of a connection string, as written and decoded. */
function passwordsOf(value: string): string[] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

/** Returns the texts in a JSON value whose keys name a credential. */
function credentialsOf(value: string): string[] {
  if (!/^\s*[[{]/.test(value)) return [];
  try {
    return textsUnderCredentialKeys(JSON.parse(value) as JsonValue);
  } catch {
    return [];
  }
}

function textsUnderCredentialKeys(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(textsUnderCredentialKeys);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    typeof member === 'string' ? (credentialKey(key) ? [member] : []) : textsUnderCredentialKeys(member),
  );
}

function longEnough(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text.length >= SHORTEST_SECRET);
}
