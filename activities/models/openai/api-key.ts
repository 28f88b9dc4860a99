import { createHash } from 'node:crypto';
import { errorCode, errorMessage, ModelCallError } from '../../../src/core/domain/errors/error.ts';
import type { ModelCallContext } from '../../../src/core/domain/model/model.ts';
import { isSecretReference, type SecretReference } from '../../../src/core/domain/agent/secret-reference.ts';

/** The facts that a key may be chosen by. */
export interface KeyContext {
  /** The tags that the run was started with. */
  readonly tags: readonly string[];
  /** The provider's own name of the model. */
  readonly model: string;
}

/** A key: its text, or the name of a secret of the worker, made by `secret()`. Undefined: `OPENAI_API_KEY` of the environment. */
export type GivenKey = string | SecretReference | undefined;

/** A key, or a function that chooses one for each call. It is called in the worker, and its result is not recorded. */
export type ApiKey = GivenKey | ((context: KeyContext) => GivenKey | Promise<GivenKey>);

/** The most combinations of tags whose account is remembered. */
const MOST_ACCOUNTS = 1_000;

/** The accounts that calls were made for, by the tags that choose the key, without the keys themselves. */
export class Accounts {
  readonly #known = new Map<string, string>();

  /** Returns a text for the account. Before the first call with these tags, they stand for it. */
  get({ tags = [] }: Pick<ModelCallContext, 'tags'>): string {
    return this.#known.get(tags.join('\n')) ?? tags.join('\n');
  }

  set({ tags = [] }: Pick<ModelCallContext, 'tags'>, key = ''): void {
    const chosenBy = tags.join('\n');
    this.#known.delete(chosenBy);
    this.#known.set(chosenBy, createHash('sha256').update(key).digest('hex').slice(0, 16));
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > MOST_ACCOUNTS) this.#known.delete(oldest);
  }
}

/** Returns the key for one call; undefined if there is none. Rejects with a ModelCallError if the key cannot be read. */
export async function keyFor(
  apiKey: ApiKey,
  model: string,
  { tags = [], secret }: Pick<ModelCallContext, 'tags' | 'secret'>,
): Promise<string | undefined> {
  const chosen = typeof apiKey === 'function' ? await choose(apiKey, { tags, model }) : apiKey;
  // A shell unsets a variable by setting it to an empty text.
  if (!isSecretReference(chosen)) return chosen || process.env['OPENAI_API_KEY'] || undefined;
  if (secret !== undefined) return readSecret(secret, chosen);
  throw new ModelCallError(
    'secret_missing',
    `The API key for model "${model}" is the secret "${chosen.name}", and only a worker has secrets`,
  );
}

async function choose(apiKey: Extract<ApiKey, (context: KeyContext) => unknown>, context: KeyContext): Promise<GivenKey> {
  let chosen: unknown;
  try {
    chosen = await apiKey(context);
  } catch (error) {
    throw new ModelCallError('model_error', `"apiKey" of openai() threw for model "${context.model}": ${errorMessage(error)}`);
  }
  if (chosen === undefined || typeof chosen === 'string' || isSecretReference(chosen)) return chosen;
  throw new ModelCallError('model_error', `"apiKey" of openai() returned neither a string nor a secret() for model "${context.model}"`);
}

/** Reads a secret. The run reports the vault's own message for one that cannot be read: it never contains the value. */
async function readSecret(secret: NonNullable<ModelCallContext['secret']>, reference: SecretReference): Promise<string> {
  try {
    return await secret(reference);
  } catch (error) {
    throw new ModelCallError(errorCode(error) ?? 'secret_unavailable', errorMessage(error));
  }
}
