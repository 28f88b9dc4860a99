import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { defined } from '../../core/domain/json.ts';
import type { ServerFlags } from '../define-command.ts';
import type { Candidate, ServerCandidates, ServerValue } from './candidates.ts';

/** The time that a person at the prompt waits for the server. */
const WITHIN_MS = 300;
/** How long a running server may take to accept a connection. If it does not, the client is not loaded. */
const ACCEPT_MS = 100;
const MOST = 50;

/** The number of list entries that are read for their names: the most that a server returns at once. */
const LOOKED_AT = 1_000;

/** Returns the server's ids or names with this prefix; none if it does not answer in time. Never rejects. */
export async function serverValues(
  { value, beginning }: Pick<ServerCandidates, 'value' | 'beginning'>,
  flags: ServerFlags,
  env: NodeJS.ProcessEnv,
): Promise<Candidate[]> {
  if (!(await mayAnswer(flags, env))) return [];
  const [{ connect: connectClient }, { actingPrincipal }] = await Promise.all([
    import('../../client/longhaul-client.ts'),
    import('../command.ts'),
  ]);
  const found: Candidate[] = [];
  const looking = (async () => {
    const { address, namespace } = flags;
    const whole = await connectClient(defined({ address, namespace }));
    const principal = actingPrincipal(flags, env);
    const client = principal === undefined ? whole : whole.as(principal);
    try {
      for await (const one of valuesFrom(client, value, beginning)) {
        if (!one.value.startsWith(beginning) || found.some((other) => other.value === one.value)) continue;
        if (found.push(one) === MOST) return;
      }
    } finally {
      await whole.close();
    }
  })().catch(() => undefined);
  await Promise.race([looking, delay(WITHIN_MS)]);
  return found;
}

/** Yields matching values. The server selects ids by prefix, so that old runs are found among many newer ones. */
async function* valuesFrom(client: LonghaulClient, value: ServerValue, beginning: string): AsyncGenerator<Candidate> {
  const filter = beginning === '' ? {} : { runIdPrefix: beginning };
  switch (value) {
    case 'run':
      for (const { runId, status, agentName } of (await client.listPage(filter, { pageSize: MOST })).items)
        yield { value: runId, meaning: [agentName, status].filter((one) => one !== undefined).join(' ') };
      return;
    case 'session':
      for (const { sessionId, title } of (await client.sessionsPage(filter, { pageSize: MOST })).items)
        yield { value: sessionId, ...(title ? { meaning: title } : {}) };
      return;
    case 'agent':
      for await (const { agentName } of client.list({ limit: LOOKED_AT })) if (agentName) yield { value: agentName };
      return;
    case 'schedule':
      for await (const { scheduleId } of client.temporal.schedule.list()) yield { value: scheduleId };
  }
}

/** False if nothing accepts a connection at the address. A profile of the Temporal CLI may have another address. */
async function mayAnswer({ address }: ServerFlags, env: NodeJS.ProcessEnv): Promise<boolean> {
  const configured = env['TEMPORAL_CONFIG_FILE'] ?? join(homedir(), '.config', 'temporalio', 'temporal.toml');
  const chosen = address ?? env['TEMPORAL_ADDRESS'];
  if (chosen === undefined && existsSync(configured)) return true;
  const url = URL.parse(`grpc://${chosen ?? 'localhost:7233'}`);
  if (url === null) return false;
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname.replaceAll(/[[\]]/g, ''), port: Number(url.port || 7233) });
    const done = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(ACCEPT_MS, () => done(false));
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}
