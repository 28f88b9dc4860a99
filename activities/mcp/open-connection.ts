import type { McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { connectProblem, statusOf } from './call-outcome.ts';
import { makeLink, type LinkOptions } from './make-link.ts';
import { McpConnection } from './mcp-connection.ts';

/** The parts of a worker that opening a connection needs. */
export interface OpenOptions extends LinkOptions {
  log: (line: string) => void;
}

/**
 * Connects to a server. One over HTTP that refuses the present protocol as servers do which speak only the one before (HTTP with
 * server-sent events) is reached by that. Throws `mcp_unreachable` with its name, and without any text of the server or a secret:
 * the output of its process is written to the log of the worker.
 */
export async function openConnection(server: McpServerDefinition, options: OpenOptions, stop: AbortSignal): Promise<McpConnection> {
  const { name, transport } = server;
  const isOlder = transport.type === 'http' && transport.protocol === 'sse';
  const link = await makeLink(server, options, isOlder ? 'sse' : 'http');
  try {
    return await McpConnection.open(link, stop);
  } catch (error) {
    for (const line of link.stderrLines()) options.log(`MCP server "${name}" has written: ${line}`);
    if (transport.type === 'http' && transport.protocol === undefined && isRefusedProtocol(error)) {
      const older = await openOlder(server, options, stop);
      if (older !== undefined) return older;
    }
    const check = transport.type === 'http' ? 'its "url" and "headers"' : `its "command" and "args", and the log of the worker`;
    throw new LonghaulError('mcp_unreachable', `MCP server "${name}" cannot be reached: ${connectProblem(error)}. Check ${check}`);
  }
}

/** Connects by the older protocol; undefined if the server does not speak it either. */
async function openOlder(server: McpServerDefinition, options: OpenOptions, stop: AbortSignal): Promise<McpConnection | undefined> {
  const link = await makeLink(server, options, 'sse');
  try {
    return await McpConnection.open(link, stop);
  } catch (error) {
    if (stop.aborted) throw error;
    const status = statusOf(error);
    // The address answers with something else than events, unless it does not answer this caller.
    if ((status !== undefined && status !== 401 && status !== 403) || connectProblem(error) === 'SseError') return undefined;
    throw new LonghaulError(
      'mcp_unreachable',
      `MCP server "${server.name}" cannot be reached: it refuses streamable HTTP, and the connection by the older protocol (HTTP with server-sent events) failed: ${connectProblem(error)}. Check its "url" and "headers"`,
    );
  }
}

/** True if a server refuses the first request of the present protocol as the protocol says of older servers. */
function isRefusedProtocol(error: unknown): boolean {
  return [400, 404, 405, 415, 406, 501].includes(statusOf(error) ?? 0);
}
