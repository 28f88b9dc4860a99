import type { makeGrpcRetryInterceptor } from '@temporalio/client';
import { errorMessage } from '../core/domain/errors/error.ts';
import { GRPC } from './grpc-code.ts';

type NextCall = Parameters<ReturnType<typeof makeGrpcRetryInterceptor>>[1];
type Call = ReturnType<NextCall>;

/**
 * Returns the way to make the attempts of a call. An attempt after the first is made by a timer of the SDK: on a connection that was closed
 * meanwhile it would throw there, and end the process. It is cancelled instead.
 */
export function retriesUntilClosed(next: NextCall): NextCall {
  let attempts = 0;
  return (options) => {
    attempts += 1;
    if (attempts === 1) return next(options);
    try {
      return next(options);
    } catch (error) {
      return cancelled(errorMessage(error));
    }
  };
}

/** Returns an attempt that ends as cancelled as soon as it is started, with the text of the error. */
function cancelled(details: string): Call {
  const ignore = (): void => undefined;
  return {
    start: (metadata, listener) => queueMicrotask(() => listener?.onReceiveStatus?.({ code: GRPC.cancelled, details, metadata })),
    sendMessage: ignore,
    sendMessageWithContext: ignore,
    startRead: ignore,
    halfClose: ignore,
    cancelWithStatus: ignore,
    getPeer: () => 'unknown',
    getAuthContext: () => null,
  };
}
