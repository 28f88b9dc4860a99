import type { Client } from '@temporalio/client';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { missingOfStart, noticeOfStart, type StartedByName } from '../../client/missing-workers.ts';
import { LonghaulError } from '../../core/domain/errors.ts';
import { didYouMean } from '../../core/domain/text.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import { within } from '../../streams/waits.ts';
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

/** The time that a start waits for what the server, or a worker, knows of a name, in milliseconds. */
const NOTICE_MS = 1_000;

/**
 * Returns the notice of a start whose agent or program no worker has had so far, as far as the namespace keeps runs, with those names that
 * the caller may be told. Undefined for one that the service lists, and if the server does not say so in time. Never rejects.
 */
export async function noticeOfUnseen(client: Client, caller: Caller, started: StartedByName | undefined): Promise<string | undefined> {
  if (started === undefined) return undefined;
  const notice = noticeOfStart(client, started, { mayName: mayBeTold(caller) });
  return within(NOTICE_MS, notice, () => new Error('late')).catch(() => undefined);
}

/** The names of runs may be those of other tenants. */
function mayBeTold(caller: Caller): (name: string) => boolean {
  return (name) => caller.principal === undefined && mayStart(caller, name);
}

/**
 * Cancels a run that has just been started for a caller who waits for its answer, if the worker that took it lacks its agent and no worker
 * has had one of that name so far. Returns a hint with a similar name, such as `. Did you mean "clerk"?`, or an empty one. Undefined if the
 * run goes on.
 */
export async function endUnknown(
  client: LonghaulClient,
  caller: Caller,
  { runId, name }: Omit<StartedByName, 'kind'>,
): Promise<string | undefined> {
  const missing = await missingOfStart(client.temporal, { runId, name, kind: 'agent' }, NOTICE_MS);
  if (missing === undefined) return undefined;
  await client.handle(runId).cancel(`no worker has agent "${name}"`);
  return didYouMean(name, missing.known.filter(mayBeTold(caller)));
}
