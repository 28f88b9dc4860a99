import { LRUCache } from 'lru-cache';
import type { SecretReference } from '../../../src/core/domain/deps.ts';
import {
  type ErrorCode,
  errorCode,
  errorMessage,
  isInstance,
  memberOf,
  ModelCallError,
  thrownText,
} from '../../../src/core/domain/errors.ts';
import { parsedJson } from '../../../src/core/domain/json.ts';
import type { ModelCallContext } from '../../../src/core/domain/model.ts';
import { classifyError, type FailedCall } from '../errors/classify-error.ts';
import { AnswerFault, forPatterns, readErrorBody, ReportedFault } from '../errors/error-body.ts';
import { isBrokenConnection } from '../errors/error-rules.ts';
import type { AiSdkModel } from './language-model.ts';
import { notWhole } from './stream-answer.ts';

/** The context for `create` of `aiSdk`. */
export interface CreateModelContext {
  /** The tags that the run was started with. */
  readonly tags: readonly string[];
  /** Reads a secret of the worker, by its name or its reference. */
  readonly secret: (secret: string | SecretReference) => Promise<string>;
}

/** Returns the model of a provider package for the provider's model name: `(id) => anthropic(id)`. */
export type CreateAiSdkModel = (id: string, context: CreateModelContext) => AiSdkModel | PromiseLike<AiSdkModel>;

/** The values that `create` has read for a model: with the same values it creates the same model. */
interface Reads {
  secrets: (string | SecretReference)[];
  tags: boolean;
}

/** A model, and the secret values that it was created with. */
interface CreatedModel {
  model: AiSdkModel;
  secrets: readonly string[];
}

/** The maximum number of kept models, for instance one for each tenant. */
const MOST_MODELS = 200;
const MOST_READS = 1_000;

/** The models that `create` has created: one for each id and each combination of the values that it reads. */
export class CreatedModels {
  readonly #create: CreateAiSdkModel;
  readonly #reads = new LRUCache<string, Reads>({ max: MOST_READS });
  readonly #models = new LRUCache<string, CreatedModel>({ max: MOST_MODELS });
  readonly #running = new Map<string, Promise<CreatedModel>>();

  constructor(create: CreateAiSdkModel) {
    this.#create = create;
  }

  /**
   * Returns the model of an id, created again only if the value of a secret has changed. Rejects with a `ModelCallError` for an unusable
   * model.
   */
  async get(id: string, context: Pick<ModelCallContext, 'tags' | 'secret'>): Promise<CreatedModel> {
    const tags = context.tags ?? [];
    const reads = this.#reads.get(id) ?? this.#reads.get(withTags(id, tags));
    if (reads !== undefined) {
      const values = await Promise.all(reads.secrets.map((secret) => readSecret(id, context, secret)));
      const known = this.#models.get(keyOf(id, reads.tags ? tags : [], values));
      if (known !== undefined) return known;
    }
    const key = withTags(id, tags);
    const running = this.#running.get(key) ?? this.#make(id, tags, context).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  /** Returns the tags that distinguish the models of an id. */
  tagsOf(id: string, tags: readonly string[] = []): readonly string[] {
    return this.#reads.has(id) ? [] : tags;
  }

  async #make(id: string, tags: readonly string[], context: Pick<ModelCallContext, 'secret'>): Promise<CreatedModel> {
    const reads: Reads = { secrets: [], tags: false };
    const secrets: string[] = [];
    const asked: CreateModelContext = {
      get tags() {
        reads.tags = true;
        return tags;
      },
      secret: async (secret) => {
        const value = await readSecret(id, context, secret);
        reads.secrets.push(secret);
        secrets.push(value);
        return value;
      },
    };
    const created = { model: checkedModel(id, await this.#created(id, asked)), secrets };
    this.#reads.set(reads.tags ? withTags(id, tags) : id, reads);
    this.#models.set(keyOf(id, reads.tags ? tags : [], secrets), created);
    return created;
  }

  async #created(id: string, context: CreateModelContext): Promise<unknown> {
    try {
      return await this.#create(id, context);
    } catch (error) {
      if (isInstance(error, ModelCallError) || isOfPackage(error)) throw error;
      throw new ModelCallError('model_error', `"create" of aiSdk() threw for model "${id}": ${errorMessage(error)}`);
    }
  }
}

function withTags(id: string, tags: readonly string[]): string {
  return JSON.stringify([id, ...tags]);
}

function keyOf(id: string, tags: readonly string[], secrets: readonly string[]): string {
  return JSON.stringify([id, tags, secrets]);
}

/** Reads a secret. The vault's message for an unreadable secret never contains its value. */
async function readSecret(
  id: string,
  { secret: read }: Pick<ModelCallContext, 'secret'>,
  secret: string | SecretReference,
): Promise<string> {
  const name = typeof secret === 'string' ? secret : secret.name;
  if (read === undefined) {
    throw new ModelCallError('secret_missing', `Model "${id}" needs the secret "${name}", and only a worker has secrets`);
  }
  try {
    return await read(secret);
  } catch (error) {
    throw new ModelCallError(errorCode(error) ?? 'secret_unavailable', errorMessage(error));
  }
}

function checkedModel(id: string, created: unknown): AiSdkModel {
  const version = memberOf(created, 'specificationVersion');
  const isUsable = (version === 'v3' || version === 'v4') && typeof memberOf(created, 'doStream') === 'function';
  if (isUsable) return created as AiSdkModel;
  const what =
    typeof created === 'string' ? `the text "${created}"` : `something with the specification "${thrownText(version)}" of the AI SDK`;
  throw new ModelCallError(
    'model_bad_request',
    `"create" of aiSdk() returned ${what} for model "${id}": return a language model of specification "v3" or "v4", such as anthropic(id) of @ai-sdk/anthropic 3 or 4`,
  );
}

/**
 * The AI SDK's errors that are not about the provider, by name: one process may have several copies of their classes. A TypeError that is
 * not a broken connection means that a package does not understand an answer.
 */
const CODES: Readonly<Record<string, ErrorCode>> = {
  AI_LoadAPIKeyError: 'model_unauthorized',
  AI_LoadSettingError: 'model_bad_request',
  AI_NoSuchModelError: 'model_not_found',
  AI_NoSuchProviderError: 'model_not_found',
  AI_UnsupportedFunctionalityError: 'model_bad_request',
  AI_InvalidPromptError: 'model_bad_request',
  AI_InvalidArgumentError: 'model_bad_request',
  AI_JSONParseError: 'model_bad_response',
  AI_TypeValidationError: 'model_bad_response',
  AI_EmptyResponseBodyError: 'model_bad_response',
  AI_InvalidResponseDataError: 'model_bad_response',
  AI_NoContentGeneratedError: 'model_bad_response',
  AI_APICallError: 'model_unreachable',
  TypeError: 'model_bad_response',
};

/** The packages' messages for an answer that ends too soon. */
const CUT = /without a finish reason|stream (?:ended|closed|was closed)|unexpected end of/i;

/** True for a named error of the AI SDK, or a broken connection. */
function isOfPackage(error: unknown): boolean {
  return String(memberOf(error, 'name')).startsWith('AI_') || isBrokenConnection(error);
}

/** Converts an error of a provider package, or of its stream, into a `ModelCallError`. */
export function packageFailure(error: unknown, call: FailedCall): ModelCallError {
  if (isInstance(error, ModelCallError)) return error;
  const known = knownFault(error);
  const name = String(memberOf(error, 'name'));
  return classifyError(known ?? error, { ...call, host: hostOf(error) ?? call.host, otherwise: CODES[name] ?? 'model_client_failed' });
}

/** Returns an error as a fault with the provider's answer; undefined for any other error. */
function knownFault(error: unknown): AnswerFault | ReportedFault | undefined {
  const message = isInstance(error, ReportedFault) ? readErrorBody(error.body).message : memberOf(error, 'message');
  const status = memberOf(error, 'statusCode');
  if (typeof status === 'number' && status >= 300) {
    const text = memberOf(error, 'responseBody');
    const body = typeof text === 'string' && text !== '' ? (parsedJson(text) ?? text) : message;
    return new ReportedFault(body, { status, headers: headersOf(error) });
  }
  if (typeof message === 'string' && CUT.test(forPatterns(message))) return notWhole();
  // The error of a connection that breaks during an answer has the answer's status, 200.
  if (typeof status !== 'number' || isBrokenConnection(error)) return undefined;
  return new AnswerFault('malformed', 'the answer does not follow the API', String(message));
}

function headersOf(error: unknown): Headers | undefined {
  const headers = memberOf(error, 'responseHeaders');
  if (typeof headers !== 'object' || headers === null) return undefined;
  const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  try {
    return new Headers(texts);
  } catch {
    return undefined;
  }
}

function hostOf(error: unknown): string | undefined {
  const url = memberOf(error, 'url');
  return typeof url === 'string' ? URL.parse(url)?.host || undefined : undefined;
}
