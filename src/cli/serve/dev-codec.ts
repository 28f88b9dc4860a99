import { type CodecServer, startCodecServer } from '../../codec/codec-server.ts';
import type { CodecOptions } from '../../codec/codec-options.ts';
import { encodes } from '../program/codec-choice.ts';
import { refusals } from './codec-server.ts';

/** The codec server that `dev` runs for the Temporal UI; without an endpoint if nothing is encoded. */
export interface DevCodecServer {
  readonly endpoint: string | undefined;
  /** Allows the pages of the Temporal UI at this address to call. */
  allow(uiUrl: string | undefined): void;
  stop(): Promise<void>;
}

/** Starts a local codec server if the codec encodes anything. Pages may call once their address is allowed. */
export async function startDevCodecServer(
  codec: CodecOptions,
  port: () => Promise<number | undefined>,
  say: (line: string) => void,
): Promise<DevCodecServer> {
  const origins = new Set<string>();
  let server: CodecServer | undefined;
  if (encodes(codec)) {
    const allowsOrigin = (origin: string): boolean => origins.has(origin);
    server = await startCodecServer({ codec, port: await port(), allowsOrigin, onRefusal: refusals(say) });
  }
  return {
    endpoint: server?.url,
    allow: (uiUrl) => {
      if (uiUrl !== undefined) for (const origin of namesOf(new URL(uiUrl))) origins.add(origin);
    },
    stop: async () => server?.stop(),
  };
}

/** Returns both names of a local origin, because a browser may use either one. */
function namesOf(url: URL): string[] {
  const isLocal = url.hostname === '127.0.0.1' || url.hostname === 'localhost';
  return isLocal ? ['127.0.0.1', 'localhost'].map((host) => `${url.protocol}//${host}:${url.port}`) : [url.origin];
}
