import { secret } from '../../src/define/context/secret.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { isSecretReference, type SecretReference } from '../../src/core/domain/agent/secret-reference.ts';
import { environmentSecrets } from '../../src/secrets/environment-secrets.ts';
import type { NamedSecretSource, SecretSource } from '../../src/secrets/secret-source.ts';
import { redactJson, secretPath } from './redact-json.ts';
import { SHORTEST_SECRET } from './secret-encodings.ts';
import { lookUp, namedSources } from './secret-lookup.ts';
import { SecretRedactor } from './secret-redactor.ts';

/** Options of a vault. */
export interface SecretVaultOptions {
  /** Milliseconds for which a value is cached: a new value is used at most that much later. Default 5 minutes. */
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
    ? secret(nameOrReference.name, nameOrReference.prefix === undefined ? {} : { prefix: nameOrReference.prefix })
    : secret(nameOrReference);
}
