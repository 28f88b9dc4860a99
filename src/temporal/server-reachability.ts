import type { Client } from '@temporalio/client';
import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors/error.ts';
import { memberOf } from '../core/domain/errors/thrown.ts';
import { GRPC, isGrpcError } from './grpc-code.ts';

/** What is asked of the server; where that does not answer any more, this rejects with `server_unreachable`, and for what it cannot take with `invalid_input`. */
export async function failIfUnreachable<Value>(client: Client, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw explained(client, error);
  }
}

/** The same for what comes one by one. */
export async function* failEachIfUnreachable<Value>(client: Client, values: AsyncGenerator<Value>): AsyncGenerator<Value> {
  try {
    yield* values;
  } catch (error) {
    throw explained(client, error);
  }
}

function explained(client: Client, error: unknown): unknown {
  if (error instanceof LonghaulError) return error;
  if (isOfClosedClient(error)) return new UsageError('The client is closed: connect() makes another one', { cause: error });
  const namespace = missingNamespace(error);
  if (namespace !== undefined) {
    const message = `The Temporal server${addressOf(client)} has no namespace "${namespace}": pass another "namespace", or set TEMPORAL_NAMESPACE`;
    return new LonghaulError('namespace_not_found', message, { cause: error });
  }
  const failed = grpcErrorIn(error);
  switch (failed?.code) {
    case GRPC.unavailable:
    case GRPC.deadlineExceeded:
      return unreachableError(client, failed.details, error);
    case GRPC.invalidArgument:
      return new LonghaulError('invalid_input', `The Temporal server refuses the request (${failed.details}): check ids and names`, {
        cause: error,
      });
    default:
      return error;
  }
}

/** The error for a server that was there when the client connected, and does not answer any more. */
export function unreachableError(client: Client, why: string, cause: unknown): LonghaulError {
  return new LonghaulError(
    'server_unreachable',
    `The Temporal server${addressOf(client)} does not answer any more (${why}): try again when it is back. Runs go on by themselves`,
    { cause },
  );
}

/** What gRPC throws for a call on a channel that was closed; the SDK wraps it. */
function isOfClosedClient(error: unknown): boolean {
  return [error, memberOf(error, 'cause')].some((one) => errorMessage(one).includes('Channel has been shut down'));
}

/** A Client that somebody made may have a connection of another kind, which does not say where it leads. */
function addressOf({ connection }: Client): string {
  const address = memberOf(memberOf(connection, 'options'), 'address');
  return typeof address === 'string' ? ` at "${address}"` : '';
}

const MOST_CAUSES = 5;

/** The name of the namespace that the server does not have, if the error says so: the SDK wraps its own error for it. */
function missingNamespace(error: unknown): string | undefined {
  const cause = [error, memberOf(error, 'cause')].find((one) => memberOf(one, 'name') === 'NamespaceNotFoundError');
  return cause === undefined ? undefined : String(memberOf(cause, 'namespace'));
}

/** The SDK wraps what gRPC says. */
function grpcErrorIn(error: unknown): { code: number; details: string } | undefined {
  let cause = error;
  for (let depth = 0; depth < MOST_CAUSES && cause !== undefined; depth += 1) {
    if (isGrpcError(cause)) return cause;
    cause = memberOf(cause, 'cause');
  }
  return undefined;
}
