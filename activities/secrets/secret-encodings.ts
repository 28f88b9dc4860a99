import { credentialKey } from '../../src/core/domain/agent/credential-key.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';

/** What is shorter would be found in ordinary words. In UTF-16 code units. */
export const SHORTEST_SECRET = 4;

type Encoder = (text: string) => string;

/** How texts get into other texts. None of these throws for well-formed UTF-16. */
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
 * Every text by which a secret can be recognised: itself, trimmed, what of it is a secret by itself (the password of a
 * URL, a member of JSON that is named like a credential); each escaped for JSON and for URLs, up to twice; each in
 * base64 wherever it may stand in what was encoded, and in hexadecimal. None is shorter than `SHORTEST_SECRET`.
 */
export function secretEncodings(value: string): string[] {
  const secrets = longEnough([value, value.trim(), ...passwordsOf(value), ...credentialsOf(value)].map((text) => text.toWellFormed()));
  const escaped = withEncoded(secrets, ENCODERS);
  const bytes = withEncoded(secrets, [jsonEscaped]).flatMap((text) => [...base64Forms(text), ...hexForms(text)]);
  return longEnough([...withEncoded(escaped, ENCODERS), ...withEncoded(bytes, [encodeURIComponent])]);
}

/** A text as it stands between the quotes of JSON. */
export function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function withEncoded(texts: readonly string[], encoders: readonly Encoder[]): string[] {
  return [...new Set([...texts, ...texts.flatMap((text) => encoders.map((encode) => encode(text)))])];
}

/**
 * The base64 of a text, whole and as it shows in the base64 of a longer text: three bytes make four characters, so it
 * depends on the place, and the characters at the edges also depend on what stands around.
 */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const whole = bytes.toString('base64');
  const fragments = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const isPartial = (before + bytes.length) % 3 !== 0;
    return encoded.slice(before === 0 ? 0 : before + 1, isPartial ? -1 : undefined);
  });
  const standard = [whole, ...fragments];
  return [...standard, ...standard.map((one) => one.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))];
}

function hexForms(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  return [hex, hex.toUpperCase()];
}

/** The password of a connection string, as it is written and as it is meant. */
function passwordsOf(value: string): string[] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

/** The texts in a JSON value whose keys name a credential. */
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
