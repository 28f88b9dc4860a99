import { errorCode, errorMessage, ModelCallError } from '../../../src/core/domain/errors/error.ts';
import type { ModelCallContext } from '../../../src/core/domain/model/model.ts';
import { isSecretReference, type SecretReference } from '../../../src/core/domain/agent/secret-reference.ts';

/** What a key is chosen by. */
export interface KeyContext {
  /** The tags that the run was started with. */
  readonly tags: readonly string[];
  /** The provider's own name of the model. */
  readonly model: string;
}

/** A key: its text, or the name of a secret of the worker, made by `secret()`. Undefined: `OPENAI_API_KEY` of the environment. */
export type GivenKey = string | SecretReference | undefined;

/** A key, or what chooses one for each call. Called in the worker; nothing of it is recorded. */
export type ApiKey = GivenKey | ((context: KeyContext) => GivenKey | Promise<GivenKey>);

/** The key for one call; undefined where there is none. Rejects with a ModelCallError where it cannot be had. */
export async function keyFor(
  given: ApiKey,
  model: string,
  { tags = [], secret }: Pick<ModelCallContext, 'tags' | 'secret'>,
): Promise<string | undefined> {
  const chosen = typeof given === 'function' ? await choose(given, { tags, model }) : given;
  // Empty is how a shell unsets a variable.
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
  throw new ModelCallError('model_error', `"apiKey" of openai() gave neither a text nor a secret() for model "${context.model}"`);
}

/** What the vault says of a secret that it cannot read is what the run says: it never has the value in it. */
async function readSecret(secret: NonNullable<ModelCallContext['secret']>, reference: SecretReference): Promise<string> {
  try {
    return await secret(reference);
  } catch (error) {
    throw new ModelCallError(errorCode(error) ?? 'secret_unavailable', errorMessage(error));
  }
}
