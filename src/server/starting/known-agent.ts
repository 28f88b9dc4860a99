import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { quoted } from '../../client/listing/quoted.ts';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import { didYouMean } from '../../core/domain/errors/nearest-name.ts';
import { SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import { within } from '../../streams/bounded-wait.ts';
import { mayStart } from '../auth/access/reach.ts';
import type { Caller } from '../auth/caller.ts';
import type { ServerSettings } from '../server-settings.ts';

/** Returns the agent of that name, or the name if the service does not list it. */
export function knownAgent({ agents }: Pick<ServerSettings, 'agents'>, name: string): AnyAgent | string {
  return agents.find((agent) => agent.name === name) ?? name;
}

/**
 * Returns the agent that a caller starts by its name. Throws `agent_not_found`, with the nearest name that the caller may start, if the
 * service lists agents and this is none of them: its run would wait for a worker that has it.
 */
export function startableAgent({ agents }: Pick<ServerSettings, 'agents'>, caller: Caller, name: string): AnyAgent | string {
  const known = knownAgent({ agents }, name);
  if (typeof known !== 'string' || agents.length === 0) return known;
  throw new LonghaulError('agent_not_found', `The service has no agent ${JSON.stringify(name)}${nearestAgent(agents, caller, name)}`);
}

/** Returns `. Did you mean "clerk"?` if the caller may start an agent of a similar name; otherwise an empty text. */
export function nearestAgent(agents: readonly AnyAgent[], caller: Caller, name: string): string {
  return didYouMean(
    name,
    agents.map((agent) => agent.name).filter((one) => mayStart(caller, one)),
  );
}

/** The time that a start waits for what the server has seen of an agent, in milliseconds. */
const NOTICE_MS = 1_000;

/** The agents that a worker has had, in any namespace that the process serves. */
const seen = new LRUCache<string, true>({ max: 1_000 });

/**
 * Returns the notice of a start whose agent no worker has had so far: no run of that name has begun in the namespace, as far as it keeps
 * runs. Undefined for an agent that the service lists, and if the server does not tell in time. Never rejects.
 */
export async function noticeOfAgent({ workflow, options: { namespace } }: Client, agent: AnyAgent | string): Promise<string | undefined> {
  if (typeof agent !== 'string') return undefined;
  const key = JSON.stringify([namespace, agent]);
  if (seen.has(key)) return undefined;
  try {
    const { count } = await within(NOTICE_MS, workflow.count(`${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`), () => new Error('late'));
    if (count > 0) {
      seen.set(key, true);
      return undefined;
    }
    return `No worker has had agent ${JSON.stringify(agent)} so far: is that its name? The run is safe, and begins as soon as a worker has it.`;
  } catch {
    return undefined;
  }
}
