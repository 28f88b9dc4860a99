import { ReadBuffer, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import type { McpTransport, McpValue } from '../../src/define/mcp/mcp-definition.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { SecretVault } from '../secrets/secret-vault.ts';
import type { Link } from './mcp-connection.ts';
import { MAX_MESSAGE_BYTES, serverFetch } from './server-fetch.ts';
import { ServerMessages } from './server-messages.ts';
import { stderrTail } from './stderr-tail.ts';
import { failAtStreamEnd } from './stream-ends.ts';

const LINE_FEED = 10;

/** The parts of a worker that a connection needs. */
export interface LinkOptions {
  secrets: Pick<SecretVault, 'resolve' | 'redact'>;
}

/** A link to a server, and its output outside the protocol. */
export interface ServerLink extends Link {
  /** Returns the last lines of its process's standard error, cleaned and redacted; none for a server over HTTP. */
  stderrLines: () => string[];
}

/** The protocol of a server over HTTP: the present one, or the one that it has replaced. */
export type HttpProtocol = 'http' | 'sse';

/**
 * Creates a link to a server, reading its secrets again. Throws the errors of the vault, and `mcp_unreachable` for a
 * header that cannot be sent.
 */
export async function makeLink(
  { name, transport }: McpServerDefinition,
  options: LinkOptions,
  protocol: HttpProtocol = 'http',
): Promise<ServerLink> {
  return transport.type === 'http' ? httpLink(name, transport, { ...options, protocol }) : stdioLink(transport, options);
}

async function httpLink(
  name: string,
  { url, headers }: McpTransport & { type: 'http' },
  { secrets, protocol }: LinkOptions & { protocol: HttpProtocol },
): Promise<ServerLink> {
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
  const messages = new ServerMessages();
  const init = { requestInit: { headers: resolved }, fetch: serverFetch(messages) };
  if (protocol === 'sse') {
    const transport = new SSEClientTransport(new URL(url), init);
    messages.follow(transport);
    return { transport, isLegacy: true, stderrLines: () => [] };
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), init);
  messages.follow(transport);
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
  const messages = new ServerMessages();
  messages.follow(transport);
  readLines(transport, messages);
  return { transport, stderrLines: stderrTail(transport.stderr, (text) => secrets.redact(text)) };
}

/**
 * Reads each line of a process before the client package does. The package has no point at which its transport of processes could be
 * given one: its buffer is the only one that sees the text. A line that never ends is left to the bound of that buffer.
 */
function readLines(transport: StdioClientTransport, messages: Pick<ServerMessages, 'read'>): void {
  const buffer: unknown = Reflect.get(transport, '_readBuffer');
  if (!(buffer instanceof ReadBuffer)) throw new TypeError('The client package has no buffer of lines: its version has changed');
  const append = buffer.append.bind(buffer);
  let pending: Buffer[] = [];
  let bytes = 0;
  buffer.append = (chunk) => {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    bytes += chunk.length;
    if (end === 0) {
      pending.push(chunk);
      if (bytes > MAX_MESSAGE_BYTES) append(Buffer.concat(pending));
      return;
    }
    const lines = Buffer.concat([...pending, chunk.subarray(0, end)]).toString();
    pending = [chunk.subarray(end)];
    bytes = chunk.length - end;
    append(
      Buffer.from(
        lines
          .split('\n')
          .map((line) => (line.trim() === '' ? '' : messages.read(line)))
          .join('\n'),
      ),
    );
  };
}

async function resolveAll(values: Readonly<Record<string, McpValue>>, secrets: LinkOptions['secrets']): Promise<Record<string, string>> {
  const entries = Object.entries(values).map(async ([name, value]): Promise<[string, string]> => [
    name,
    typeof value === 'string' ? value : await secrets.resolve(value),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}
