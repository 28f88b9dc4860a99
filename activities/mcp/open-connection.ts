import type { McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { connectProblem } from './call-outcome.ts';
import { makeLink, type LinkOptions } from './make-link.ts';
import { McpConnection } from './mcp-connection.ts';

/** The parts of a worker that opening a connection needs. */
export interface OpenOptions extends LinkOptions {
  log: (line: string) => void;
}

/**
 * Connects to a server. Throws `mcp_unreachable` with its name, and without any text of the server or a secret: the
 * output of its process is written to the log of the worker.
 */
export async function openConnection(server: McpServerDefinition, options: OpenOptions, stop: AbortSignal): Promise<McpConnection> {
  const link = await makeLink(server, options);
  try {
    return await McpConnection.open(link, stop);
  } catch (error) {
    for (const line of link.stderrLines()) options.log(`MCP server "${server.name}" has written: ${line}`);
    const { transport } = server;
    const check = transport.type === 'http' ? 'its "url" and "headers"' : `its "command" and "args", and the log of the worker`;
    throw new LonghaulError('mcp_unreachable', `MCP server "${server.name}" cannot be reached: ${connectProblem(error)}. Check ${check}`);
  }
}
