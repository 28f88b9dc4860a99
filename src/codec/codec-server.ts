import { createServer, type Server } from 'node:http';
import { errorMessage, UsageError } from '../core/domain/errors/error.ts';
import type { CodecOptions } from './codec-options.ts';
import { answerer } from './codec-request.ts';
import { createCodecs } from './with-codec.ts';

/** The options of a codec server. */
export interface CodecServerOptions {
  codec: CodecOptions;
  /** The address to listen on. Default 127.0.0.1, which only this machine reaches. */
  host?: string;
  /** The port to listen on. Default: a free one. */
  port?: number | undefined;
  /**
   * The token that callers must send as `Authorization: Bearer <token>`. Required for any address that other machines
   * reach.
   */
  token?: string | undefined;
  /** Returns true if pages of that origin, such as `http://localhost:8233`, may call. Default: none may. */
  allowsOrigin?: (origin: string) => boolean;
  /** The maximum size of a request body in bytes. Default 64 MiB. */
  maxBodyBytes?: number;
  /**
   * Receives the reason of each refused request, which the Temporal CLI does not show. It never contains content or a
   * token.
   */
  onRefusal?: (line: string) => void;
}

/** A running codec server. */
export interface CodecServer {
  /** The endpoint to give to the Temporal UI and CLI. */
  url: string;
  /** Ends the server and its connections. */
  stop(): Promise<void>;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Starts an HTTP server that encodes and decodes payloads for the Temporal UI and CLI: `POST …/encode` and `POST
 * …/decode`. Throws a UsageError for invalid codec options, for an address that other machines reach without a token,
 * and for a port that cannot be used.
 */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const { host = '127.0.0.1', token, allowsOrigin = () => false, maxBodyBytes = MAX_BODY_BYTES, onRefusal = () => undefined } = options;
  if (token === undefined && !LOOPBACK.includes(host)) {
    throw new UsageError(`A codec server at "${host}" would show clear text to everyone who reaches it: give it a token`);
  }
  const codecs = createCodecs(options.codec);
  const server = createServer(answerer({ codecs, token, allowsOrigin, maxBodyBytes, onRefusal }));
  const port = await listen(server, host, options.port ?? 0);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new UsageError(`The codec server cannot listen on "${host}:${port}": ${errorMessage(cause)}. Choose another port`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
