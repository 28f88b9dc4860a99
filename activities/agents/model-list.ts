import { defined } from '../../src/core/domain/defined.ts';
import type { FallbackPolicy } from '../../src/core/domain/fallback.ts';
import type { ModelCapabilities, ModelClient } from '../../src/core/domain/model.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { contextTokens } from '../../src/model/models.ts';

/** The models of an agent as its snapshot pins them: what all of them can do, and the list if there are several. */
interface ModelsOfAgent {
  capabilities: ModelCapabilities;
  fallback?: FallbackPolicy;
}

/** The model clients of a worker. */
interface Providers {
  provider(model: string): ModelClient;
}

/** Returns the models of an agent. Throws `unknown_provider` for one that this worker does not have. */
export function modelsOfAgent({ model, fallback }: Pick<AnyAgent, 'model' | 'fallback'>, providers: Providers): ModelsOfAgent {
  if (fallback === undefined) return { capabilities: providers.provider(model).capabilities };
  const { models, on, coolDownMs, maxWaitMs, returnAt } = fallback;
  const listed = models.map((one) => ({ model: one, contextTokens: contextTokens(one, providers.provider(one).capabilities) }));
  return {
    capabilities: {
      // The form of the answer is pinned: every model of the list must be able to give it.
      structuredOutput: models.every((one) => providers.provider(one).capabilities.structuredOutput),
      contextTokens: Math.min(...listed.map((one) => one.contextTokens)),
    },
    fallback: { models: listed, ...defined({ on: on === undefined ? undefined : [...on], coolDownMs, maxWaitMs, returnAt }) },
  };
}
