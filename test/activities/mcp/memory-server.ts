import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Link } from '../../../activities/mcp/mcp-connection.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';

/** A tool of the fake server. */
export interface MemoryTool {
  name: string;
  description?: string;
  inputSchema?: JsonObject;
  outputSchema?: JsonObject;
  annotations?: JsonObject;
  /** The result of a call. `hang` never answers, `fail` answers with a protocol error. */
  answer?: (args: JsonObject) => JsonObject | 'hang' | 'fail';
}

/** The data of a call that a client has sent. */
export interface Received {
  method: string;
  params: JsonObject;
}

/** A server in this process with the parts of the protocol that a client of tools needs. */
export class MemoryServer {
  tools: MemoryTool[];
  /** Number of tools on one page of a listing. */
  pageSize = 100;
  readonly received: Received[] = [];
  connections = 0;
  open = 0;
  #transports: InMemoryTransport[] = [];

  constructor(tools: MemoryTool[]) {
    this.tools = tools;
  }

  /** Opens a new connection to the server. */
  link(): Link {
    const [client, server] = InMemoryTransport.createLinkedPair();
    this.connections += 1;
    this.open += 1;
    this.#transports.push(server);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no other way
    server.onclose = () => (this.open -= 1);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no other way
    server.onmessage = (message) => void this.#receive(server, message);
    return { transport: client };
  }

  /** Sends the notification that the tools have changed. */
  async change(tools: MemoryTool[]): Promise<void> {
    this.tools = tools;
    await this.#tell('notifications/tools/list_changed', {});
  }

  /** Cuts all connections, like a server that dies. */
  async die(): Promise<void> {
    for (const transport of this.#transports.splice(0)) await transport.close();
  }

  /** The calls that it has received. */
  get calls(): Received[] {
    return this.received.filter(({ method }) => method === 'tools/call');
  }

  async #tell(method: string, params: JsonObject): Promise<void> {
    for (const transport of this.#transports) await transport.send({ jsonrpc: '2.0', method, params });
  }

  async #receive(transport: InMemoryTransport, message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) return;
    const params = (message.params ?? {}) as JsonObject;
    this.received.push({ method: message.method, params });
    if (!('id' in message)) return;
    const { id } = message;
    const result = this.#answer(message.method, params);
    if (result === 'hang') return;
    if (result === 'fail') await transport.send({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'not here' } });
    else await transport.send({ jsonrpc: '2.0', id, result });
  }

  #answer(method: string, params: JsonObject): JsonObject | 'hang' | 'fail' {
    if (method === 'initialize') {
      const { protocolVersion = '' } = params;
      return { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'memory', version: '1' } };
    }
    if (method === 'ping') return {};
    if (method === 'tools/list') return this.#page(Number(params['cursor'] ?? 0));
    if (method !== 'tools/call') return 'fail';
    const tool = this.tools.find(({ name }) => name === params['name']);
    return tool?.answer?.(params['arguments'] as JsonObject) ?? { content: [{ type: 'text', text: 'done' }] };
  }

  #page(from: number): JsonObject {
    const to = from + this.pageSize;
    const tools = this.tools.slice(from, to).map(({ answer: _, ...tool }) => ({ inputSchema: { type: 'object' }, ...tool }));
    return { tools, ...(to < this.tools.length ? { nextCursor: String(to) } : {}) };
  }
}
