import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import type { McpRequest } from '../../../activities/mcp/mcp-connection.ts';
import { openConnection } from '../../../activities/mcp/open-connection.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { mcpServer } from '../../../src/define/mcp.ts';
import { secret } from '../../../src/define/resources.ts';
import { until } from '../../server/testbed/until.ts';
import { EVERYTHING, FILESYSTEM } from './real-servers.ts';
import { nameOfTool } from '../../../activities/mcp/read-tool.ts';

const never = new AbortController().signal;
const directory = mkdtempSync(join(tmpdir(), 'longhaul-mcp-'));
const pids = join(directory, 'pids');
const log: string[] = [];
const secrets = new SecretVault((name) => (name === 'crm-token' ? 'value-of-the-crm-token' : undefined));
const pool = new McpPool((server, stop) => openConnection(server, { secrets, log: (line) => log.push(line) }, stop));

/** server-everything, which records its process ids in a file. */
const everything = mcpServer({
  name: 'everything',
  command: 'sh',
  args: ['-c', `echo $$ >> ${pids}; exec ${process.execPath} ${EVERYTHING} stdio`],
  env: { CRM_TOKEN: secret('crm-token', { prefix: 'Bearer ' }), REGION: 'eu' },
});
const files = mcpServer({ name: 'files', command: process.execPath, args: [FILESYSTEM, directory] });

beforeAll(() => {
  process.env['LONGHAUL_TEST_OF_THE_WORKER'] = 'not for servers';
});
afterEach(() => log.splice(0));
afterAll(async () => {
  await pool.close();
  delete process.env['LONGHAUL_TEST_OF_THE_WORKER'];
  rmSync(directory, { recursive: true });
});

function call(
  tool: string,
  args: McpRequest['args'] = {},
  changes: Partial<McpRequest> = {},
  server: McpServerDefinition = everything,
): ReturnType<McpPool['call']> {
  const request = { tool, args, idempotencyKey: 'run/e1/0', signal: never, onProgress: () => undefined, ...changes };
  return pool.call(server, request, () => undefined);
}

/** The process of the connection that was opened last. */
function newestPid(): number {
  return Number(readFileSync(pids, 'utf8').trim().split('\n').at(-1));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('server-everything lists its tools, and they can be called', async () => {
  const tools = await pool.tools(everything, never);
  expect(tools.map(nameOfTool)).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image', 'trigger-long-running-operation']));
  expect(await call('echo', { message: 'hi' })).toMatchObject({
    type: 'answered',
    result: { content: [{ type: 'text', text: 'Echo: hi' }] },
  });
});

test('arguments that the server refuses give the error of the server', async () => {
  expect(await call('get-sum', { a: 'x', b: 1 })).toMatchObject({ type: 'answered', result: { isError: true } });
});

test('an image stays an image', async () => {
  const outcome = await call('get-tiny-image');
  expect(outcome).toMatchObject({
    type: 'answered',
    result: { content: expect.arrayContaining([expect.objectContaining({ type: 'image', mimeType: 'image/png' })]) },
  });
});

test('the server gets its own environment variables, and no others of the worker', async () => {
  const outcome = await call('get-env');
  const text = JSON.stringify(outcome);
  expect(text).toContain('REGION');
  expect(text).toContain('Bearer value-of-the-crm-token');
  expect(text).not.toContain('LONGHAUL_TEST_OF_THE_WORKER');
});

test('progress of a long call is passed on', async () => {
  const seen: unknown[] = [];
  await call('trigger-long-running-operation', { duration: 0.3, steps: 3 }, { onProgress: (progress) => seen.push(progress) });
  // Progress that arrives together with the answer is not passed on.
  expect(seen.slice(0, 2)).toEqual([
    { progress: 1, total: 3 },
    { progress: 2, total: 3 },
  ]);
});

test('a cancelled call ends at once, and the connection stays open', async () => {
  const before = newestPid();
  const controller = new AbortController();
  const onProgress = (): void => controller.abort(new Error('cancelled'));
  const calling = call('trigger-long-running-operation', { duration: 600, steps: 6000 }, { signal: controller.signal, onProgress });
  await expect(calling).rejects.toThrow('cancelled');
  expect(await call('echo', { message: 'still' })).toMatchObject({ type: 'answered' });
  expect(newestPid()).toBe(before);
});

test('a killed server is started again for the next call', async () => {
  await call('echo', { message: 'hi' });
  const before = newestPid();
  process.kill(before, 'SIGKILL');
  await until(() => !isRunning(before), 'the end of the server');
  await until(async () => (await call('echo', { message: 'again' })).type === 'answered', 'an answer');
  expect(newestPid()).not.toBe(before);
});

test('a call is lost if the server is killed meanwhile', async () => {
  const onProgress = (): void => void process.kill(newestPid(), 'SIGKILL');
  const outcome = await call('trigger-long-running-operation', { duration: 600, steps: 6000 }, { onProgress });
  expect(outcome).toEqual({ type: 'lost', message: 'connection closed' });
});

test('an idle server is ended', async () => {
  const brief = mcpServer({
    name: 'brief',
    command: 'sh',
    args: ['-c', `echo $$ >> ${pids}; exec ${process.execPath} ${EVERYTHING} stdio`],
    idleTimeout: 50,
  });
  await call('echo', { message: 'hi' }, {}, brief);
  const pid = newestPid();
  await until(() => !isRunning(pid), 'the end of the server');
  expect(await call('echo', { message: 'again' }, {}, brief)).toMatchObject({ type: 'answered' });
  expect(newestPid()).not.toBe(pid);
});

test('the filesystem server has access to its folder alone', async () => {
  writeFileSync(join(directory, 'a.txt'), 'inside');
  const read = await call('read_text_file', { path: join(directory, 'a.txt') }, {}, files);
  expect(read).toMatchObject({ type: 'answered', result: { content: [{ text: 'inside' }], structuredContent: { content: 'inside' } } });
  const outside = await call('read_text_file', { path: '/etc/hostname' }, {}, files);
  expect(outside).toMatchObject({ type: 'answered', result: { isError: true } });
});

test('a program that does not exist cannot be reached, and the error says so without secrets', async () => {
  const missing = mcpServer({ name: 'missing', command: '/nowhere/server', env: { TOKEN: secret('crm-token') } });
  const failing = call('echo', {}, {}, missing);
  await expect(failing).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message:
      'MCP server "missing" cannot be reached: its program "/nowhere/server" could not be started (ENOENT). Check its "command" and "args", and the log of the worker',
  });
});

test('a program that exits is unreachable, and the tail of its stderr is logged without secrets', async () => {
  const failing = mcpServer({
    name: 'failing',
    command: 'sh',
    args: ['-c', 'echo "bad token $TOKEN" >&2; exit 1'],
    env: { TOKEN: secret('crm-token') },
  });
  await expect(call('echo', {}, {}, failing)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: expect.stringContaining('"failing" cannot be reached'),
  });
  expect(log).toEqual(['MCP server "failing" has written: bad token [secret "crm-token"]']);
});

test('closing the pool ends all processes', async () => {
  await call('echo', { message: 'hi' });
  const pid = newestPid();
  expect(isRunning(pid)).toBe(true);
  await pool.close();
  expect(isRunning(pid)).toBe(false);
  pool.start();
});

/** A server of one program text that writes nulls wherever something is optional, and its results in other forms. */
const ODD = `
const answers = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: null }, prompts: null }, serverInfo: { name: 'odd', version: '1', title: null }, instructions: null, _meta: null },
  'tools/list': { tools: [{ name: 'say', description: null, inputSchema: null, annotations: null, _meta: null }, null], nextCursor: null, _meta: null },
  'tools/call': null,
  ping: null,
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const known = Object.hasOwn(answers, method);
  const text = JSON.stringify({ jsonrpc: '2.0', id: String(id), result: answers[method] ?? null, error: known ? null : { code: -32601, message: 'no', data: null } });
  // In two pieces, after a separate line.
  process.stdout.write('starting…\\n' + text.slice(0, 20));
  setTimeout(() => process.stdout.write(text.slice(20) + '\\r\\n'), 5);
});
`;

test('a program that writes nulls, ids as texts and empty results can be used', async () => {
  const odd = mcpServer({ name: 'odd', command: process.execPath, args: ['-e', ODD] });
  expect((await pool.tools(odd, never)).map(nameOfTool)).toEqual(['say', undefined]);
  expect(await call('say', {}, {}, odd)).toEqual({ type: 'answered', result: null });
});

test('a program that cannot be started is named, with its folder', async () => {
  const absent = mcpServer({ name: 'absent', command: 'no-such-program' });
  const check = 'Check its "command" and "args", and the log of the worker';
  await expect(pool.tools(absent, never)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: `MCP server "absent" cannot be reached: its program "no-such-program" could not be started (ENOENT). ${check}`,
  });
  const elsewhere = mcpServer({ name: 'elsewhere', command: process.execPath, cwd: '/no/such/folder' });
  await expect(pool.tools(elsewhere, never)).rejects.toMatchObject({
    message: `MCP server "elsewhere" cannot be reached: its program "${process.execPath}" could not be started in the folder "/no/such/folder" (ENOENT). ${check}`,
  });
});
