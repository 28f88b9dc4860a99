import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject } from '../../src/core/domain/json.ts';

/** A tool of an MCP server, as the server describes it. */
export interface ListedTool {
  name: string;
  inputSchema: unknown;
}

/** A server of the Model Context Protocol over streamable HTTP. Returns its URL, and what closes it. */
export async function startMcp(
  tools: readonly ListedTool[],
  called: (name: string, args: object) => string,
): Promise<{ url: string; close: () => void }> {
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    let text = '';
    for await (const piece of request) text += String(piece);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message: unknown = JSON.parse(text);
    if (!isJsonObject(message) || message['id'] === undefined) return void response.writeHead(202).end();
    const result = answer(message, tools, called);
    const error = { code: -32_601, message: 'Method not found' };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], ...(result === undefined ? { error } : { result }) }));
  };
  const server = http.createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/mcp`, close };
}

function answer(
  { method, params }: Record<string, unknown>,
  tools: readonly ListedTool[],
  called: (name: string, args: object) => string,
): object | undefined {
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'desk', version: '1' } };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: tools.map((tool) => ({ ...tool, description: 'A tool of a server' })) };
    case 'tools/call': {
      const { name, arguments: args } = isJsonObject(params) ? params : {};
      return { content: [{ type: 'text', text: called(typeof name === 'string' ? name : '', isJsonObject(args) ? args : {}) }] };
    }
    default:
      return undefined;
  }
}
