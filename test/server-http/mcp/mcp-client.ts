import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Handler } from '../../../src/server/index.ts';

/** The generation of the protocol that a client speaks. */
export type Generation = 'legacy' | 'auto';

/** A client of the protocol, as users have it, that reaches a handler without a socket. */
export async function mcpClient(handler: Handler, generation: Generation, seen: Request[] = []): Promise<Client & AsyncDisposable> {
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: async (url, init) => {
      const request = new Request(url, init);
      seen.push(request.clone());
      return handler(request);
    },
  });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: generation } });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
