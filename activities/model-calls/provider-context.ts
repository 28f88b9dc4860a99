import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { ModelCallContext } from '../../src/core/domain/model/model.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Returns the facts about the run that a provider may choose its API key by. */
export function providerContext({ secrets }: ActivityRuntime, { tags }: AgentSnapshot): Pick<ModelCallContext, 'tags' | 'secret'> {
  return { ...(tags === undefined ? {} : { tags }), secret: (nameOrReference) => secrets.resolve(nameOrReference) };
}
