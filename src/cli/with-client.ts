import type { LonghaulClient } from '../client/longhaul-client.ts';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import type { Principal } from '../core/domain/run.ts';
import { chosenCodec } from './program/codec-choice.ts';
import type { CommandIo, ServerFlags } from './program/command.ts';
import { untilInterrupted } from './interruption.ts';

/** The server that a command uses. */
export interface ServerLocation {
  address: string;
  namespace: string;
}

/** A client, and the server that it is connected to. */
export interface ConnectedClient {
  client: LonghaulClient;
  server: ServerLocation;
}

/**
 * Connects, does the work, and disconnects. Throws `server_unreachable` within 5 s if no server answers, and the
 * reason of the terminal's signal as soon as it is aborted.
 */
export async function withClient<Value>(
  { terminal, output }: CommandIo,
  flags: ServerFlags,
  work: (connected: ConnectedClient) => Promise<Value>,
): Promise<Value> {
  const connected = await untilInterrupted(
    terminal.signal,
    connectClient(flags, terminal.env, (line) => output.note(line)),
  );
  try {
    return await untilInterrupted(terminal.signal, work(connected));
  } finally {
    await connected.client.close();
  }
}

/**
 * Returns the server that the flags, the environment and the profile of the Temporal CLI name. Throws a UsageError
 * for a profile that cannot be read.
 */
export async function resolveServerLocation({ address, namespace }: ServerFlags): Promise<ServerLocation> {
  const { resolveServer } = await import('../temporal/server-connection.ts');
  try {
    const server = resolveServer({ ...(address === undefined ? {} : { address }), ...(namespace === undefined ? {} : { namespace }) });
    return { address: server.connection.address, namespace: server.namespace };
  } catch (error) {
    const [firstLine] = errorMessage(error).split('\n');
    throw new UsageError(`The configuration of the Temporal server cannot be read: ${firstLine}`, { cause: error });
  }
}

async function connectClient(flags: ServerFlags, env: NodeJS.ProcessEnv, onNotice: (line: string) => void): Promise<ConnectedClient> {
  const codec = chosenCodec(flags, env);
  const server = await resolveServerLocation(flags);
  const principal = actingPrincipal(flags, env);
  const { connect } = await import('../client/longhaul-client.ts');
  const userKey = userKeyOf(env);
  const client = await connect({
    ...server,
    codec,
    ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
    ...(userKey === undefined ? {} : { userKey }),
    onNotice,
  });
  return { client: principal === undefined ? client : client.as(principal), server };
}

/** Returns whom a command acts for; undefined if neither the flags nor the environment name a principal: it then reaches all runs. */
export function actingPrincipal({ tenant, user }: Pick<ServerFlags, 'tenant' | 'user'>, env: NodeJS.ProcessEnv): Principal | undefined {
  const principal = { tenant: tenant ?? (env['LONGHAUL_TENANT'] || undefined), user: user ?? (env['LONGHAUL_USER'] || undefined) };
  if (principal.tenant === undefined && principal.user === undefined) return undefined;
  return {
    ...(principal.tenant === undefined ? {} : { tenant: principal.tenant }),
    ...(principal.user === undefined ? {} : { user: principal.user }),
  };
}

/** Returns the key by which the clients of the namespace hash users in search attributes; undefined if they do not. */
export function userKeyOf(env: NodeJS.ProcessEnv): string | undefined {
  return env['LONGHAUL_USER_KEY'] || undefined;
}
