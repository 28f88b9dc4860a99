import type { AnyAgent } from '../../../../define/agent-definition.ts';
import type { Caller } from '../../../auth/caller.ts';
import { requireStart } from '../../../auth/access/reach.ts';
import type { ServerSettings } from '../../../server-settings.ts';
import { modelNotFound } from '../errors/openai-refusal.ts';

/**
 * Returns the agent that a request names as its model. A service that lists agents has no other models. Throws `forbidden` for one that
 * the caller may not start, and `model_not_found`.
 */
export function agentOfModel({ agents }: Pick<ServerSettings, 'agents'>, caller: Caller, model: string): AnyAgent | string {
  requireStart(caller, model);
  const known = knownAgent({ agents }, model);
  if (typeof known === 'string' && agents.length > 0) throw modelNotFound(model);
  return known;
}

/** True if no text of the agent may be shown before its guardrails have passed the whole answer. */
export function holdsAnswers(agent: AnyAgent | string): boolean {
  return typeof agent !== 'string' && (agent.guardrails ?? []).some(({ type }) => type === 'output');
}

/** Returns the agent of that name, or the name if the service does not list it. */
export function knownAgent({ agents }: Pick<ServerSettings, 'agents'>, name: string): AnyAgent | string {
  return agents.find((agent) => agent.name === name) ?? name;
}
