import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import type { McpTransport, McpValue } from '../../src/define/mcp/mcp-definition.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { SecretVault } from '../secrets/secret-vault.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { Link } from './mcp-connection.ts';
import { stderrTail } from './stderr-tail.ts';
import { failAtStreamEnd } from './stream-ends.ts';

/** The parts of a worker that a connection needs. */
export interface LinkOptions {
  secrets: Pick<SecretVault, 'resolve' | 'redact'>;
}

/** A link to a server, and its output outside the protocol. */
export interface ServerLink extends Link {
  /** Returns the last lines of its process's standard error, cleaned and redacted; none for a server over HTTP. */
  stderrLines: () => string[];
}

/**
 * Creates a link to a server, reading its secrets again. Throws the errors of the vault, and `mcp_unreachable` for a
 * header that cannot be sent.
 */
export async function makeLink({ name, transport }: McpServerDefinition, options: LinkOptions): Promise<ServerLink> {
  return transport.type === 'http' ? httpLink(name, transport, options) : stdioLink(transport, options);
}

async function httpLink(name: string, { url, headers }: McpTransport & { type: 'http' }, { secrets }: LinkOptions): Promise<ServerLink> {
  const resolved = await resolveAll(headers, secrets);
  for (const [header, value] of Object.entries(resolved)) {
    // The platform's own error would quote the value.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new LonghaulError(
        'mcp_unreachable',
        `MCP server "${name}" cannot be reached: the value of the header "${header}" has characters that HTTP does not allow. Change its secret`,
      );
    }
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: resolved }, fetch: boundedFetch });
  failAtStreamEnd(transport);
  return { transport, end: () => transport.terminateSession(), stderrLines: () => [] };
}

async function stdioLink({ command, args, env, cwd }: McpTransport & { type: 'stdio' }, { secrets }: LinkOptions): Promise<ServerLink> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    // The client adds the few variables that any program needs, and no others of the worker.
    env: await resolveAll(env, secrets),
    ...(cwd === undefined ? {} : { cwd }),
    stderr: 'pipe',
  });
  return { transport, stderrLines: stderrTail(transport.stderr, (text) => secrets.redact(text)) };
}

async function resolveAll(values: Readonly<Record<string, McpValue>>, secrets: LinkOptions['secrets']): Promise<Record<string, string>> {
  const entries = Object.entries(values).map(async ([name, value]): Promise<[string, string]> => [
    name,
    typeof value === 'string' ? value : await secrets.resolve(value),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}
