import type { ArchiveSink } from '../stores/archive/archive-sink.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { PayloadStore } from '../stores/payload-store/payload-store.ts';
import type { Principal } from '../core/domain/run.ts';
import type { StreamSink } from '../streams/stream-sink.ts';

/** The options of a client. */
export interface LonghaulClientOptions {
  /** The task queue of runs that do not name one. Default `longhaul`. */
  taskQueue?: string;
  /** The agents that exist, if the caller knows them: a start of any other name is refused before it is sent. */
  agents?: readonly AnyAgent[];
  /** The store of results that are too large for the conversation: the same as that of the workers. */
  payloadStore?: PayloadStore;
  /** The archive to which workers write the records of runs. */
  archive?: ArchiveSink;
  /** The memory of the workers: `forget` removes the entries of the user from it. */
  memory?: MemoryStore;
  /**
   * The key by which users are hashed (HMAC-SHA-256) in the search attribute `LonghaulUser`, which is in clear text otherwise: the same
   * for all clients of the namespace.
   */
  userKey?: string;
  /** Whom the client acts for: it reaches the runs of that principal alone. Default: all runs. See `as`. */
  principal?: Principal;
  /** Carries live output from the workers to the streams of this client: the same sink as that of the workers. Default: streams show the record alone. */
  streams?: StreamSink;
  /** Receives notices for the person who waits, for example that no worker polls. Default: a process warning. */
  onNotice?: (line: string) => void;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
export const CLIENT_OPTIONS: Record<keyof LonghaulClientOptions, true> = {
  taskQueue: true,
  agents: true,
  payloadStore: true,
  archive: true,
  memory: true,
  userKey: true,
  principal: true,
  streams: true,
  onNotice: true,
};
