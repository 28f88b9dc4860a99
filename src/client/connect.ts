import { Client, type ClientOptions, Connection } from '@temporalio/client';
import type { CodecOptions } from '../codec/encryption.ts';
import { withCodec } from '../codec/with-codec.ts';
import { nonEmpty, requireKnown } from '../define/option-checks.ts';
import { connectionReason, LonghaulError } from '../core/domain/errors.ts';
import { CLIENT_OPTIONS, type LonghaulClientOptions } from './client-options.ts';
import { LonghaulClient } from './longhaul-client.ts';
import { resolveServer, type ServerAddress, type ServerConnectOptions } from '../temporal/server-address.ts';
import { CALL_RETRY } from '../temporal/call-retry.ts';

/** The options of `connect`. Options that are left out come from `TEMPORAL_*` variables and the Temporal CLI's TOML profile. */
export interface ConnectOptions extends ServerAddress, LonghaulClientOptions {
  /** Options of the Temporal Client: data converter, interceptors, plugins. */
  client?: Omit<ClientOptions, 'connection' | 'namespace'>;
  /** Compression and encryption of the data that is sent; the workers need the same. Encoded data is read in any case. */
  codec?: CodecOptions;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: Record<keyof ConnectOptions, true> = { address: true, namespace: true, client: true, codec: true, ...CLIENT_OPTIONS };

/** The time limit of connecting: a running server answers within milliseconds, and a missing one should be reported within 5 s. */
const CONNECT_TIMEOUT_MS = 4_000;

/** The largest gRPC message: a page of history can exceed the default of 4 MB. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

/**
 * Connects to a Temporal server. Throws `server_unreachable` with the address if none answers within 5 s, and a
 * UsageError for unknown options and a codec that cannot be used.
 */
export async function connect(options: ConnectOptions = {}): Promise<LonghaulClient> {
  requireKnown('connect', options, Object.keys(OPTIONS));
  for (const name of ['address', 'namespace'] as const) {
    if (options[name] !== undefined) nonEmpty(`connect: "${name}"`, options[name]);
  }
  return await connectTo(resolveServer(options), options);
}

/** Connects to that server. Nothing comes from the environment and the profile. The options are checked. Throws like `connect`. */
export async function connectTo(
  { connection: server, namespace }: { connection: ServerConnectOptions; namespace: string },
  options: Omit<ConnectOptions, 'address' | 'namespace'>,
): Promise<LonghaulClient> {
  const dataConverter = withCodec(options.client?.dataConverter, options.codec);
  let connection: Connection;
  try {
    connection = await Connection.connect({
      ...server,
      connectTimeout: CONNECT_TIMEOUT_MS,
      channelArgs: { 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES },
      interceptors: CALL_RETRY,
    });
  } catch (error) {
    throw new LonghaulError('server_unreachable', unreachable(server.address, error), { cause: error });
  }
  return new LonghaulClient(new Client({ ...options.client, dataConverter, connection, namespace }), clientOptions(options));
}

/** Returns the options of the client itself. */
function clientOptions(options: Omit<ConnectOptions, 'address' | 'namespace'>): LonghaulClientOptions {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(CLIENT_OPTIONS, name)));
}

/** Returns the message for a server that does not answer. */
export function unreachable(address: string, error: unknown): string {
  return `No Temporal server answers at "${address}" (${connectionReason(error)}): start one with "npx longhaul dev", or set TEMPORAL_ADDRESS`;
}
