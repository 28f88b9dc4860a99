import { secret } from '../../src/define/secret.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { isSecretReference, type SecretReference } from '../../src/core/domain/agent/secret-reference.ts';
import { environmentSecrets } from '../../src/secrets/environment-secrets.ts';
import type { NamedSecretSource, SecretSource } from '../../src/secrets/secret-source.ts';
import { redactJson, secretPath } from './redact-json.ts';
import { SHORTEST_SECRET } from './secret-encodings.ts';
import { lookUp, namedSources } from './secret-lookup.ts';
import { SecretRedactor } from './secret-redactor.ts';

/** How a vault looks up. */
export interface SecretVaultOptions {
  /** Milliseconds for which a value is not looked up again. Default 5 minutes: a new value is used at most that much later. */
  cacheMs?: number;
  /** Milliseconds that one lookup may take. Default 10,000. */
  lookupMs?: number;
  /** Milliseconds of a clock. Default `Date.now`. */
  now?: () => number;
}

interface Cached {
  value: string;
  until: number;
}

/**
 * The secrets of one worker: reads them where the worker's `secrets` say, and takes every value that it has read out
 * of what tools hand on. It shows no value when it is logged.
 */
export class SecretVault {
  readonly #sources: readonly NamedSecretSource[];
  readonly #options: Required<SecretVaultOptions>;
  readonly #cache = new Map<string, Cached>();
  readonly #lookups = new Map<string, Promise<string>>();
  readonly #traces = new SecretRedactor();

  /** Default: the environment. Throws a UsageError for what is no source. */
  constructor(sources: SecretSource | readonly SecretSource[] = environmentSecrets(), options: SecretVaultOptions = {}) {
    this.#sources = namedSources(sources);
    this.#options = { cacheMs: 300_000, lookupMs: 10_000, now: Date.now, ...options };
  }

  /**
   * The value of a secret, behind the prefix of its reference. Throws a UsageError for what is no name,
   * `secret_missing` where no source has it, or only a value too short to be found again, and `secret_unavailable`
   * where a source failed. No error has a value in it.
   */
  async resolve(nameOrReference: string | SecretReference): Promise<string> {
    const { name, prefix } = reference(nameOrReference);
    return `${prefix ?? ''}${await this.#value(name)}`;
  }

  /** The text with `[secret "name"]` in the place of every value so far, plain, escaped, or encoded. */
  redact(text: string): string {
    return this.#traces.redact(text);
  }

  /** The same in all texts and keys of a value, which is returned as it is where there is nothing to replace. */
  redactJson(value: JsonValue): JsonValue {
    return redactJson(this.#traces, value);
  }

  /** Where in the value a secret is, as a path that begins with `path`; undefined where there is none. */
  leak(value: JsonValue, path = ''): string | undefined {
    return secretPath(this.#traces, value, path);
  }

  /** True as long as no secret was read: there is nothing to redact. */
  get isUnused(): boolean {
    return this.#traces.isEmpty;
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
    this.#traces.add(name, value);
    this.#cache.set(name, { value, until: this.#options.now() + this.#options.cacheMs });
    return value;
  }
}

/** What came through JSON is checked again. */
function reference(given: string | SecretReference): SecretReference {
  return isSecretReference(given) ? secret(given.name, given.prefix === undefined ? {} : { prefix: given.prefix }) : secret(given);
}
