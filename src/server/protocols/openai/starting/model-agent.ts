import type { JsonObject } from '../../../../core/domain/json.ts';
import type { AnyAgent } from '../../../../define/agent-definition.ts';
import type { Caller } from '../../../auth/caller.ts';
import { requireStart } from '../../../auth/access/reach.ts';
import type { ServerSettings } from '../../../server-settings.ts';
import { knownAgent, nearestAgent } from '../../../starting/known-agent.ts';
import { modelNotFound } from '../errors/openai-refusal.ts';

/**
 * Returns the agent that a request names as its model. A service that lists agents has no other models. Throws `forbidden` for one that
 * the caller may not start, and `model_not_found`.
 */
export function agentOfModel({ agents }: Pick<ServerSettings, 'agents'>, caller: Caller, model: string): AnyAgent | string {
  requireStart(caller, model);
  const known = knownAgent({ agents }, model);
  if (typeof known === 'string' && agents.length > 0) throw modelNotFound(model, {}, nearestAgent(agents, caller, model));
  return known;
}

/** Returns the schema of the agent's answers; undefined for text, and for an agent that the service does not list. */
export function answerSchema(agent: AnyAgent | string): JsonObject | undefined {
  return typeof agent === 'string' ? undefined : agent.output?.schema;
}
