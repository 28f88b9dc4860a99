import { afterAll, beforeAll, expect, test } from 'vitest';
import { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import type { McpRequest } from '../../../activities/mcp/mcp-connection.ts';
import { openConnection } from '../../../activities/mcp/open-connection.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { mcpServer } from '../../../src/define/mcp.ts';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { secret } from '../../../src/define/resources.ts';
import { type HttpServer, httpServer, type RecordingProxy, recordingProxy } from './real-servers.ts';
import { nameOfTool } from '../../../activities/mcp/read-tool.ts';

const never = new AbortController().signal;
const values: Record<string, string> = { 'crm-token': 'value-of-the-crm-token', broken: 'two\nlines-of-a-secret' };
const secrets = new SecretVault((name) => values[name]);
const pool = new McpPool((server, stop) => openConnection(server, { secrets, log: () => undefined }, stop));
let server: HttpServer;
let proxy: RecordingProxy;
let everything: McpServerDefinition;

beforeAll(async () => {
  server = await httpServer();
  proxy = await recordingProxy(server.url);
  everything = mcpServer({
    name: 'everything',
    url: proxy.url,
    headers: { Authorization: secret('crm-token', { prefix: 'Bearer ' }), 'x-region': 'eu' },
  });
});
afterAll(async () => {
  await pool.close();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function call(tool: string, args: McpRequest['args'] = {}, changes: Partial<McpRequest> = {}): ReturnType<McpPool['call']> {
  const request = { tool, args, idempotencyKey: 'run/e1/0', signal: never, onProgress: () => undefined, ...changes };
  return pool.call(everything, request, () => undefined);
}

test('server-everything lists its tools over HTTP, and every request carries the headers', async () => {
  expect((await pool.tools(everything, never)).map(nameOfTool)).toContain('echo');
  expect(await call('echo', { message: 'hi' })).toMatchObject({ type: 'answered', result: { content: [{ text: 'Echo: hi' }] } });
  const carried = proxy.headers.map((one) => [one.authorization, one['x-region']]);
  expect(new Set(carried.map(String))).toEqual(new Set(['Bearer value-of-the-crm-token,eu']));
});

test('progress arrives, and a cancelled call ends', async () => {
  const controller = new AbortController();
  const seen: unknown[] = [];
  const onProgress = (progress: unknown): void => {
    seen.push(progress);
    controller.abort(new Error('cancelled'));
  };
  const calling = call('trigger-long-running-operation', { duration: 600, steps: 6000 }, { signal: controller.signal, onProgress });
  await expect(calling).rejects.toThrow('cancelled');
  expect(seen).toEqual([{ progress: 1, total: 6000 }]);
});

test('if a server has forgotten the session, a new session is opened, and the call succeeds', async () => {
  await call('echo', { message: 'hi' });
  await server.restart();
  expect(await call('echo', { message: 'again' })).toMatchObject({ type: 'answered', result: { content: [{ text: 'Echo: again' }] } });
});

test('a call is lost if the server is killed meanwhile', async () => {
  let restarted: Promise<void> | undefined;
  const onProgress = (): void => void (restarted ??= server.restart());
  const outcome = await call('trigger-long-running-operation', { duration: 600, steps: 6000 }, { onProgress });
  expect(outcome).toEqual({ type: 'lost', message: 'connection closed' });
  await restarted;
});

test('an address without a listener cannot be reached', async () => {
  const [port] = await freePorts([undefined]);
  const nobody = mcpServer({ name: 'nobody', url: `http://127.0.0.1:${port}/mcp`, headers: { authorization: secret('crm-token') } });
  await expect(pool.tools(nobody, never)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: 'MCP server "nobody" cannot be reached: ECONNREFUSED. Check its "url" and "headers"',
  });
});

test("the error of a refused connection has the server's name and answer, but no header", async () => {
  await using door = await recordingProxy(`${server.url}/elsewhere`);
  const locked = mcpServer({ name: 'locked', url: door.url, headers: { authorization: secret('crm-token') } });
  await expect(pool.tools(locked, never)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: expect.stringMatching(/^MCP server "locked" cannot be reached: HTTP 404\./),
  });
});

test('a secret that is not a valid header is refused without its value', async () => {
  const broken = mcpServer({ name: 'broken', url: server.url, headers: { authorization: secret('broken') } });
  const failing = pool.tools(broken, never);
  await expect(failing).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: expect.stringContaining('the value of the header "authorization" has characters that HTTP does not allow'),
  });
  await expect(failing).rejects.not.toMatchObject({ message: expect.stringContaining('lines') });
});
