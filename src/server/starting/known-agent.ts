import type { AnyAgent } from '../../define/agent-definition.ts';
import type { ServerSettings } from '../server-settings.ts';

/** Returns the agent of that name, or the name if the service does not list it. */
export function knownAgent({ agents }: Pick<ServerSettings, 'agents'>, name: string): AnyAgent | string {
  return agents.find((agent) => agent.name === name) ?? name;
}

/** True if no text of the agent may be shown before its guardrails have passed the whole answer. */
export function holdsAnswers(agent: AnyAgent | string): boolean {
  return typeof agent !== 'string' && (agent.guardrails ?? []).some(({ type }) => type === 'output');
}
