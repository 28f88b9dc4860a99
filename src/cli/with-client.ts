import type { LonghaulClient } from '../client/longhaul-client.ts';
import { UsageError, errorMessage } from '../core/domain/errors/error.ts';
import { chosenCodec } from './program/codec-choice.ts';
import type { CommandIo, ServerFlags } from './program/command.ts';
import { untilInterrupted } from './interruption.ts';

/** The server that a command talks to. */
export interface ServerPlace {
  address: string;
  namespace: string;
}

/** A client, and where it is connected to. */
export interface ConnectedClient {
  client: LonghaulClient;
  server: ServerPlace;
}

/**
 * Connects, does the work, and disconnects. Throws `server_unreachable` within 5 s where no server answers, and the
 * reason of the terminal's signal as soon as that is aborted.
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

/** Where the flags, the environment and the profile of the Temporal CLI point. Throws a UsageError for a profile that cannot be read. */
export async function resolvePlace({ address, namespace }: ServerFlags): Promise<ServerPlace> {
  const { resolveServer } = await import('../temporal/server-address.ts');
  try {
    const server = resolveServer({ ...(address === undefined ? {} : { address }), ...(namespace === undefined ? {} : { namespace }) });
    return { address: server.connection.address, namespace: server.namespace };
  } catch (error) {
    const [said] = errorMessage(error).split('\n');
    throw new UsageError(`The configuration of the Temporal server cannot be read: ${said}`, { cause: error });
  }
}

async function connectClient(flags: ServerFlags, env: NodeJS.ProcessEnv, onNotice: (line: string) => void): Promise<ConnectedClient> {
  const codec = chosenCodec(flags, env);
  const server = await resolvePlace(flags);
  const { connect } = await import('../client/connect.ts');
  const client = await connect({ ...server, codec, ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }), onNotice });
  return { client, server };
}
