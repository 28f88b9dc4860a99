/** The time that a reader has to take the end of a body that was cut, in milliseconds. Then its connection is closed. */
const UNREAD_MS = 5_000;

/** The source of a body. */
interface BodySource {
  /** Returns the next bytes, once the reader has room for them; undefined at the end. Rejects to break the body off. */
  next: () => Promise<Uint8Array | undefined>;
  /** Called once, however the body ends. */
  over: () => void;
  /** Aborted when the body has to end. `next` is expected to end then, too. */
  signal?: AbortSignal | undefined;
  unreadMs?: number;
}

/**
 * Returns a body whose bytes are asked for when the reader has room for them. A reader that does not read asks for nothing, so it would
 * keep its connection and its place for as long as it likes: once the signal is aborted, it has some seconds to take the end.
 */
export function pulledBody({ next, over, signal, unreadMs = UNREAD_MS }: BodySource): ReadableStream<Uint8Array> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let cut = (): void => undefined;
  const finish = (): boolean => {
    if (isOver) return false;
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', cut);
    over();
    return true;
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        cut = (): void => {
          timer = setTimeout(() => {
            if (finish()) controller.error(new StreamCutError());
          }, unreadMs).unref();
        };
        if (signal?.aborted) cut();
        else signal?.addEventListener('abort', cut, { once: true });
      },
      async pull(controller) {
        try {
          const bytes = await next();
          if (isOver) return;
          if (bytes !== undefined) return controller.enqueue(bytes);
          if (finish()) controller.close();
        } catch {
          if (finish()) controller.error(new StreamCutError());
        }
      },
      cancel() {
        finish();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * The error of a body that breaks off, of the kind by which clients know a connection that breaks. The server that sends the body may print
 * it, so it has no cause and no stack: the failure is reported by itself.
 */
class StreamCutError extends TypeError {
  override readonly name = 'StreamCutError';

  constructor() {
    super('network error: the stream was cut');
    this.stack = `${this.name}: ${this.message}`;
  }
}
