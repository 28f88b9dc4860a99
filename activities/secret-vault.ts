import { inspect } from 'node:util';
import { credentialKey, isSecretReference, type SecretReference } from '../src/core/domain/deps.ts';
import { LonghaulError, memberOf, UsageError } from '../src/core/domain/errors.ts';
import { defined, isJsonObject, type JsonValue, memberPath } from '../src/core/domain/json.ts';
import type { RunLog } from '../src/define/context.ts';
import { type ReadSecret, secret } from '../src/define/resources.ts';
import { environmentSecrets, type NamedSecretSource, type SecretSource } from '../src/secrets/secret-sources.ts';

/** Options of a vault. */
export interface SecretVaultOptions {
  /** Milliseconds for which a value is cached: a new value is in use after at most this time. Default 5 minutes. */
  cacheMs?: number;
  /** Milliseconds that one lookup may take. Default 10,000. */
  lookupMs?: number;
  /** A clock in milliseconds. Default `Date.now`. */
  now?: () => number;
}

interface Cached {
  value: string;
  until: number;
}

/** For each reader that a vault has made: reads again what it has read, and returns true if a value has changed. */
const RENEWALS = new WeakMap<ReadSecret, () => Promise<boolean>>();

/** Reads the secrets again that a reader of a vault has returned. Returns true if the value of one has changed. */
export async function isRenewed(reader: ReadSecret | undefined): Promise<boolean> {
  return (reader && (await RENEWALS.get(reader)?.())) ?? false;
}

/**
 * Reads the secrets of one worker from its sources, and redacts every value it has read from the output of tools.
 * Logging a vault shows no value.
 */
export class SecretVault {
  readonly #sources: readonly NamedSecretSource[];
  readonly #options: Required<SecretVaultOptions>;
  readonly #cache = new Map<string, Cached>();
  readonly #lookups = new Map<string, Promise<string>>();
  readonly #redactor = new SecretRedactor();

  /** Throws a UsageError for a value that is not a source. Default: the environment. */
  constructor(sources: SecretSource | readonly SecretSource[] = environmentSecrets(), options: SecretVaultOptions = {}) {
    this.#sources = namedSources(sources);
    this.#options = { cacheMs: 300_000, lookupMs: 10_000, now: Date.now, ...options };
  }

  /**
   * Returns the value of a secret, after the prefix of its reference. Throws a UsageError for an invalid name,
   * `secret_missing` if no source has the secret or its value is too short to be found in texts, and
   * `secret_unavailable` if a source failed. No error contains a value.
   */
  async resolve(nameOrReference: string | SecretReference): Promise<string> {
    const { name, prefix } = reference(nameOrReference);
    return `${prefix ?? ''}${await this.#value(name)}`;
  }

  /** Returns a function that reads secrets for one request, so that `isRenewed` can read them again. */
  reader(): ReadSecret {
    const read = new Map<string, string>();
    const reader: ReadSecret = async (nameOrReference) => {
      const { name, prefix } = reference(nameOrReference);
      const value = await this.#value(name);
      read.set(name, value);
      return `${prefix ?? ''}${value}`;
    };
    RENEWALS.set(reader, async () => {
      const changes = await Promise.all([...read].map(async ([name, value]) => this.#isChanged(name, value)));
      return changes.includes(true);
    });
    return reader;
  }

  /** Returns the text with `[secret "name"]` for every value read so far, plain, escaped, or encoded. */
  redact(text: string): string {
    return this.#redactor.redact(text);
  }

  /** Redacts all texts and keys of a value. Returns the same value if it has no secret. */
  redactJson(value: JsonValue): JsonValue {
    return redactJson(this.#redactor, value);
  }

  /** Returns the path to the first secret in the value, beginning with `path`; undefined if it has none. */
  leak(value: JsonValue, path = ''): string | undefined {
    return secretPath(this.#redactor, value, path);
  }

  /** True if no secret has been read: there is nothing to redact. */
  get isUnused(): boolean {
    return this.#redactor.isEmpty;
  }

  async #value(name: string): Promise<string> {
    const cached = this.#cache.get(name);
    if (cached !== undefined && this.#options.now() < cached.until) return cached.value;
    return this.#lookUp(name);
  }

  /**
   * True if a secret no longer has a value that was refused. A secret that cannot be read keeps its value: the refusal is the error that
   * matters.
   */
  async #isChanged(name: string, refused: string): Promise<boolean> {
    const cached = this.#cache.get(name);
    if (cached !== undefined && cached.value !== refused) return true;
    return this.#lookUp(name).then(
      (value) => value !== refused,
      () => false,
    );
  }

  /** Asks the sources, once for all callers at the same time. */
  async #lookUp(name: string): Promise<string> {
    const running = this.#lookups.get(name);
    if (running !== undefined) return running;
    const lookup = this.#read(name).finally(() => this.#lookups.delete(name));
    this.#lookups.set(name, lookup);
    return lookup;
  }

  async #read(name: string): Promise<string> {
    const value = await lookUp(this.#sources, name, this.#options.lookupMs);
    if (value.trim().length < SHORTEST_SECRET) {
      throw new LonghaulError(
        'secret_missing',
        `The value of secret "${name}" has fewer than ${SHORTEST_SECRET} characters: it could not be told from ordinary text, and so not be kept out of the history. Give the worker a longer one`,
      );
    }
    this.#redactor.add(name, value);
    this.#cache.set(name, { value, until: this.#options.now() + this.#options.cacheMs });
    return value;
  }
}

/** Returns a valid reference. One that came through JSON is checked again. */
function reference(nameOrReference: string | SecretReference): SecretReference {
  return isSecretReference(nameOrReference)
    ? secret(nameOrReference.name, defined({ prefix: nameOrReference.prefix }))
    : secret(nameOrReference);
}

/**
 * Returns the value with secrets redacted in its texts and keys; a number that is a secret becomes a text. Returns the
 * same value if it has no secret.
 */
function redactJson(redactor: SecretRedactor, value: JsonValue): JsonValue {
  if (redactor.isEmpty || !redactor.mayContainSecret(JSON.stringify(value))) return value;
  return redactMember(redactor, value);
}

/** Returns the path to the first secret in a value, with secrets in the path redacted; undefined if the value has none. */
function secretPath(redactor: SecretRedactor, value: JsonValue, path: string): string | undefined {
  if (redactor.isEmpty || !redactor.mayContainSecret(JSON.stringify(value))) return undefined;
  return pathIn(redactor, value, path);
}

function redactMember(redactor: SecretRedactor, value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactor.redact(value);
  if (typeof value === 'number') return redactNumber(redactor, value);
  if (Array.isArray(value)) return value.map((one) => redactMember(redactor, one));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redactor.redact(key), redactMember(redactor, one)]));
}

/** Redacts a number only if the whole number is a secret: a few digits would occur in many numbers. */
function redactNumber(redactor: SecretRedactor, value: number): JsonValue {
  return redactor.isSecret(String(value)) ? redactor.redact(String(value)) : value;
}

function pathIn(redactor: SecretRedactor, value: JsonValue, path: string): string | undefined {
  if (typeof value === 'string') return redactor.containsSecret(value) ? path : undefined;
  if (typeof value === 'number') return redactor.isSecret(String(value)) ? path : undefined;
  const members: [string | number, JsonValue][] = Array.isArray(value)
    ? [...value.entries()]
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  for (const [key, member] of members) {
    const here = memberPath(path, typeof key === 'string' ? redactor.redact(key) : key);
    const found = typeof key === 'string' && redactor.containsSecret(key) ? here : pathIn(redactor, member, here);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Gives every source a location for error messages. Throws a UsageError for a value that is not a source. */
function namedSources(sources: SecretSource | readonly SecretSource[]): NamedSecretSource[] {
  const list: readonly SecretSource[] = isList(sources) ? sources : [sources];
  return list.map((source, index) => {
    if (typeof source === 'function') {
      return {
        where: () => (list.length > 1 ? `the function at place ${index + 1} of "secrets"` : 'the function "secrets"'),
        read: source,
      };
    }
    if (typeof source === 'object' && source !== null && typeof source.read === 'function' && typeof source.where === 'function')
      return source;
    throw new UsageError(
      `the worker: "secrets" has a value at index ${index} that is not a source: write environmentSecrets(), fileSecrets({directory}), or a function from a name to a value`,
    );
  });
}

/**
 * Returns the value from the first source that has one; an empty text counts as missing. Throws `secret_missing` with
 * the locations that were searched, and `secret_unavailable` if a source throws or takes longer than `lookupMs`.
 */
async function lookUp(sources: readonly NamedSecretSource[], name: string, lookupMs: number): Promise<string> {
  for (const source of sources) {
    const value = await readOne(source, name, lookupMs);
    if (value !== undefined && value !== '') return value;
  }
  const locations = sources.map((source) => locationOf(source, name)).join(', ') || 'nowhere, because "secrets" is an empty list';
  throw new LonghaulError(
    'secret_missing',
    `Secret "${name}" is missing. It was looked for in: ${locations}. Put it there, or say with "secrets" of the worker where it is`,
  );
}

async function readOne(source: NamedSecretSource, name: string, lookupMs: number): Promise<string | undefined> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(secretUnavailable(source, name, `has not answered within ${lookupMs} ms`)), lookupMs);
  try {
    const value: unknown = await Promise.race([readFromSource(source, name), late]);
    if (value === undefined || typeof value === 'string') return value;
    throw secretUnavailable(source, name, `returned something that is not text (${value === null ? 'null' : typeof value})`);
  } finally {
    clearTimeout(timer);
  }
}

async function readFromSource(source: NamedSecretSource, name: string): Promise<unknown> {
  try {
    return await source.read(name);
  } catch (error) {
    throw secretUnavailable(source, name, `failed${kindOf(error)}`);
  }
}

/** Neither the message of the error nor the error itself is passed on: both may contain the value. */
function secretUnavailable(source: NamedSecretSource, name: string, what: string): LonghaulError {
  return new LonghaulError(
    'secret_unavailable',
    `Secret "${name}" could not be read: ${locationOf(source, name)} ${what}. It can be tried again`,
  );
}

/** Returns the location that a source searches. `where` is a user's function, whose errors may also contain the value. */
function locationOf(source: NamedSecretSource, name: string): string {
  try {
    const location: unknown = source.where(name);
    if (typeof location === 'string') return location;
  } catch {
    // The error is not passed on.
  }
  return 'a source that cannot say where it looks';
}

/** Returns the code of an error, such as ECONNREFUSED, if it looks like a code. */
function kindOf(error: unknown): string {
  const code = memberOf(error, 'code');
  return typeof code === 'string' && /^[A-Z][A-Z_]{1,39}$/.test(code) ? ` with ${code}` : '';
}

function isList(sources: SecretSource | readonly SecretSource[]): sources is readonly SecretSource[] {
  return Array.isArray(sources);
}

/** The number of values that are remembered for each secret: old values appear as long as a client still uses them. */
const REMEMBERED_VALUES = 20;

/** An encoding of a secret, found in a text. */
interface Occurrence {
  start: number;
  end: number;
  name: string;
}

/** A text to search for, and the secret that it reveals. */
interface EncodedSecret {
  text: string;
  /** The text as it appears in JSON. */
  escaped: string;
  name: string;
}

/** Finds the secrets that a worker has read, in all their encodings, and replaces them with their names. */
class SecretRedactor {
  readonly #values = new Map<string, string[]>();
  #encoded: EncodedSecret[] = [];
  #markers = new Map<string, string>();

  /** True if there is nothing to search for. */
  get isEmpty(): boolean {
    return this.#encoded.length === 0;
  }

  /** Adds a value of the secret, in addition to its 19 previous values. */
  add(name: string, value: string): void {
    const known = this.#values.get(name) ?? [];
    if (known[0] === value) return;
    this.#values.set(name, [value, ...known.filter((one) => one !== value)].slice(0, REMEMBERED_VALUES));
    const encoded = [...this.#values].flatMap(([owner, values]) =>
      values.flatMap((one) => secretEncodings(one).map((text) => ({ text, escaped: jsonEscaped(text), name: owner }))),
    );
    this.#encoded = [...new Map(encoded.map((one) => [one.text, one])).values()];
    this.#markers = new Map([...this.#values.keys()].map((owner) => [owner, this.#marker(owner)]));
  }

  containsSecret(text: string): boolean {
    return this.#encoded.some((one) => text.includes(one.text));
  }

  /** True if the whole text is a secret. */
  isSecret(text: string): boolean {
    return this.#encoded.some((one) => text === one.text);
  }

  /** True if a value with this JSON text may contain a secret in a text or key; false only if it contains none. */
  mayContainSecret(json: string): boolean {
    return this.#encoded.some((one) => json.includes(one.escaped));
  }

  /** Returns the text with `[secret "name"]` for every secret. */
  redact(text: string): string {
    let clean = text;
    // A marker and the text around it can form a secret together. Rounds after the first insert no marker, so the text
    // gets shorter each time and the loop ends.
    for (let round = 0; ; round += 1) {
      const found = mergedOccurrences(this.#occurrences(clean));
      if (found.length === 0) return clean;
      clean = withMarkers(clean, found, (name) => (round === 0 ? (this.#markers.get(name) ?? '') : ''));
    }
  }

  #occurrences(text: string): Occurrence[] {
    return this.#encoded.flatMap(({ text: encoding, name }) => {
      const found: Occurrence[] = [];
      for (let start = text.indexOf(encoding); start >= 0; start = text.indexOf(encoding, start + 1)) {
        found.push({ start, end: start + encoding.length, name });
      }
      return found;
    });
  }

  /** Returns the replacement of a secret, which must not contain a secret itself, for instance one that equals its name. */
  #marker(name: string): string {
    return [`[secret "${name}"]`, '[secret]'].find((marker) => !this.containsSecret(marker)) ?? '';
  }
}

/** Merges overlapping occurrences into one, named after the longest. */
function mergedOccurrences(found: readonly Occurrence[]): Occurrence[] {
  const spans: (Occurrence & { longest: number })[] = [];
  for (const one of found.toSorted((first, second) => first.start - second.start)) {
    const last = spans.at(-1);
    const length = one.end - one.start;
    if (last === undefined || one.start >= last.end) {
      spans.push({ ...one, longest: length });
      continue;
    }
    last.end = Math.max(last.end, one.end);
    if (length > last.longest) Object.assign(last, { longest: length, name: one.name });
  }
  return spans;
}

function withMarkers(text: string, spans: readonly Occurrence[], markerOf: (name: string) => string): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, name } of spans) {
    parts.push(text.slice(at, start), markerOf(name));
    at = end;
  }
  return [...parts, text.slice(at)].join('');
}

/** The minimum length of a secret, in UTF-16 code units: a shorter one would occur in ordinary words. */
const SHORTEST_SECRET = 4;

type Encoder = (text: string) => string;

/** Encodings in which a secret may appear in another text. None of these throws for well-formed UTF-16. */
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
 * Returns every text that reveals a secret: the value itself, trimmed, and its parts that are secrets (the password of a URL, a JSON member
 * with the name of a credential); each escaped for JSON and for URLs, up to twice; each in hexadecimal, and in base64 at any offset of the
 * encoded bytes. None is shorter than `SHORTEST_SECRET`.
 */
function secretEncodings(value: string): string[] {
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
 * the encoding depends on the offset, and the characters at the edges also depend on the neighboring bytes.
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

/** The depth to which lists and plain objects are copied. A deeper value is shown as text if it contains a secret. */
const COPIED_DEPTH = 8;

/** Returns a log that redacts secrets in messages and fields. Until the vault has read a secret, lines pass unchanged. */
export function redactedLog(vault: SecretVault, log: RunLog): RunLog {
  const line =
    (level: keyof RunLog): RunLog[keyof RunLog] =>
    (message, fields) => {
      if (vault.isUnused) return log[level](message, fields);
      // Code without type checks may log an error as the message: a log line is not worth a failed call.
      const text: unknown = message;
      return log[level](vault.redact(String(text)), fields === undefined ? undefined : redactFields(vault, fields));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

/**
 * Redacts secrets in the fields of a log line. An error, a Map or another live object is kept if it contains no secret,
 * and becomes text if it does.
 */
function redactFields(vault: SecretVault, fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [vault.redact(key), redactField(vault, value, 0)]));
}

function redactField(vault: SecretVault, value: unknown, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'number') return vault.redactJson(value);
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (depth < COPIED_DEPTH && Array.isArray(value)) return value.map((one: unknown) => redactField(vault, one, depth + 1));
  if (depth < COPIED_DEPTH && isPlain(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [vault.redact(key), redactField(vault, one, depth + 1)]));
  }
  return redactLive(vault, value);
}

/** Redacts a live object. Its display depends on the logger, which may use its JSON, its inspection, or its bytes. */
function redactLive(vault: SecretVault, value: unknown): unknown {
  try {
    const bytes = ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString() : undefined;
    const shown = bytes ?? inspect(value, { depth: COPIED_DEPTH, maxArrayLength: null, maxStringLength: null });
    const clean = vault.redact(shown);
    if (clean !== shown) return clean;
    return vault.leak(jsonOf(value)) === undefined ? value : clean;
  } catch {
    return '[This value could not be searched for secrets]';
  }
}

/** Returns the JSON form of a value: null if it has none, or if conversion throws for a cycle or a bigint. */
function jsonOf(value: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue;
  } catch {
    return null;
  }
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
