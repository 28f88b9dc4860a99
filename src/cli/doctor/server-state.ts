import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { errorMessage } from '../../core/domain/errors.ts';
import { DEFAULT_TASK_QUEUE } from '../../core/protocol.ts';
import { resolveServer } from '../../temporal/server-connection.ts';
import { GRPC, grpcCode } from '../../temporal/server-calls.ts';
import { defined } from '../../core/domain/json.ts';
import { unreachable } from '../../client/longhaul-client.ts';
import type { ServerFlags } from '../define-command.ts';

/** A server that answers, and what it has said of itself. */
export interface AnsweringServer {
  state: 'up';
  connection: Connection;
  address: string;
  namespace: string;
  taskQueue: string;
  version: string;
  /** Milliseconds by which its clock is ahead of this one; undefined if no answer had a time. */
  aheadMs: () => number | undefined;
  /** The namespace as the server describes it, or why it does not. */
  described: Promise<DescribedNamespace>;
}

/** The namespace as far as the checks need it. */
type DescribedNamespace =
  | { state: 'found'; retentionDays: number | undefined }
  | { state: 'missing' | 'refused' | 'failed'; reason: string };

export type ServerState = AnsweringServer | { state: 'down'; address: string; reason: string } | { state: 'misconfigured'; reason: string };

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

/** Connects to the server that the flags and the environment name. Never rejects. */
export async function connectToServer(flags: ServerFlags, withinMs: number): Promise<ServerState> {
  let server: ReturnType<typeof resolveServer>;
  try {
    server = resolveServer(defined({ address: flags.address, namespace: flags.namespace }));
  } catch (error) {
    return { state: 'misconfigured', reason: errorMessage(error).split('\n')[0] ?? '' };
  }
  const { connection: options, namespace } = server;
  const clock: ServerClock = { aheadMs: undefined };
  const until = Date.now() + withinMs;
  try {
    const connection = await Connection.connect({
      ...options,
      connectTimeout: withinMs,
      // Checks report the first answer: a retry would only hide that the server refuses calls.
      interceptors: [readDates(clock)],
    });
    const { serverVersion } = await connection.withDeadline(until, () => connection.workflowService.getSystemInfo({}));
    return {
      state: 'up',
      connection,
      address: options.address,
      namespace,
      taskQueue: flags.taskQueue ?? DEFAULT_TASK_QUEUE,
      version: serverVersion || 'an unknown version',
      aheadMs: () => clock.aheadMs,
      described: describe(connection, namespace, withinMs),
    };
  } catch (error) {
    return { state: 'down', address: options.address, reason: unreachable(options.address, error) };
  }
}

async function describe(connection: Connection, namespace: string, withinMs: number): Promise<DescribedNamespace> {
  try {
    const { config } = await connection.withDeadline(Date.now() + withinMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    const seconds = config?.workflowExecutionRetentionTtl?.seconds;
    return { state: 'found', retentionDays: seconds === undefined || seconds === null ? undefined : Number(seconds) / 86_400 };
  } catch (error) {
    const reason = errorMessage(error);
    const code = grpcCode(error);
    if (code === GRPC.notFound) return { state: 'missing', reason };
    return { state: code === GRPC.notAllowed || code === GRPC.unauthenticated ? 'refused' : 'failed', reason };
  }
}

interface ServerClock {
  aheadMs: number | undefined;
}

const once = makeGrpcRetryInterceptor({ ...defaultGrpcRetryOptions(), retryableDecider: () => false });

/** Reads the time of the server from the header `date`, which proxies before it send, such as those of Temporal Cloud. */
function readDates(clock: ServerClock): Interceptor {
  return (options, next) =>
    once(options, (inner) => {
      const call = next(inner);
      const start = call.start.bind(call);
      call.start = (metadata, listener) =>
        start(metadata, {
          // The methods of a listener may be those of its class.
          onReceiveMessage: (message) => listener?.onReceiveMessage?.(message),
          onReceiveStatus: (status) => listener?.onReceiveStatus?.(status),
          onReceiveMetadata: (received) => {
            const time = Date.parse(String(received.get('date')[0]));
            // The header has whole seconds.
            if (!Number.isNaN(time)) clock.aheadMs = time - Date.now();
            listener?.onReceiveMetadata?.(received);
          },
        });
      return call;
    });
}
