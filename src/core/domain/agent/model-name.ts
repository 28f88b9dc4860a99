import { UsageError } from '../errors/error.ts';

/**
 * The name of a model: the name of a provider of the worker, a slash, and the provider's own name of the model, which may contain
 * slashes.
 */
export type ModelName = `${string}/${string}`;

/** Returns the name if it is `provider/model`; otherwise throws a UsageError that begins with `owner`. */
export function modelName(owner: string, model: string): ModelName {
  const slash = model.indexOf('/');
  if (slash > 0 && slash < model.length - 1) return model as ModelName;
  const missing = slash > 0 ? 'name after the provider' : 'provider';
  throw new UsageError(`${owner}: model "${model}" has no ${missing}: write "provider/model"`);
}
