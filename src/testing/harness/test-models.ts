import { errorMessage, UsageError } from '../../core/domain/errors.ts';
import { partsOfModelName, type ModelClient, type ModelName, type ModelRequest, unknownHostedTool } from '../../core/domain/model.ts';

/** The models of a test by their names, `provider/model`. */
export type ModelsByName = Readonly<Record<ModelName, ModelClient>>;

/** The model of a test: one for all names, or one for each. */
export type TestModel = ModelClient | ModelsByName;

/** A model that can check whether its script was used up. */
type CheckedModel = ModelClient & { assertUsedUp?: () => void };

function isClient(model: TestModel | undefined): model is ModelClient {
  return typeof model === 'object' && 'call' in model && typeof model.call === 'function';
}

/** Returns the providers of a test. Throws a UsageError without a model, or if a used name has none. */
export function providersOfTest(what: string, model: TestModel | undefined, names: readonly string[]): Record<string, ModelClient> {
  const providers = [...new Set(names.map((name) => partsOfModelName(name).provider))];
  if (isClient(model)) return Object.fromEntries(providers.map((provider) => [provider, model]));
  if (typeof model !== 'object' || model === null || Object.keys(model).length === 0)
    throw new UsageError(`the test of ${what} has no "model": write scriptedModel([…])`);
  const models = new Map<string, ModelClient>(Object.entries(model));
  for (const name of names) {
    if (isClient(models.get(name))) continue;
    throw new UsageError(`the test of ${what} has no model "${name}": write model: {'${name}': scriptedModel([…])}`);
  }
  return Object.fromEntries(providers.map((provider) => [provider, modelsOfProvider(provider, models)]));
}

/** Returns a provider with these models, each with a separate script. */
function modelsOfProvider(provider: string, models: ReadonlyMap<string, ModelClient>): ModelClient {
  const own = [...models].filter(([name]) => partsOfModelName(name).provider === provider).map(([, model]) => model);
  const modelOf = ({ model }: ModelRequest): ModelClient => {
    const found = models.get(`${provider}/${model}`);
    if (found === undefined) throw new UsageError(`the test has no model "${provider}/${model}": add it to "model"`);
    return found;
  };
  return {
    capabilities: {
      structuredOutput: own.every(({ capabilities }) => capabilities.structuredOutput),
      contextTokens: (model) => {
        const given = models.get(`${provider}/${model}`)?.capabilities.contextTokens;
        return typeof given === 'function' ? given(model) : given;
      },
    },
    call: (request, context) => modelOf(request).call(request, context),
    rateLimitKey: (request, context) => modelOf(request).rateLimitKey?.(request, context),
    unknownHostedTool: (request, context) => unknownHostedTool(modelOf(request), request, context),
  };
}

/** Throws unless the script of each model was used up. */
export function assertModelsUsedUp(model: TestModel): void {
  if (isClient(model)) {
    (model as CheckedModel).assertUsedUp?.();
    return;
  }
  for (const [name, one] of Object.entries<CheckedModel>(model)) {
    try {
      one.assertUsedUp?.();
    } catch (error) {
      throw new Error(`Model "${name}": ${errorMessage(error)}`, { cause: error });
    }
  }
}
