import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { createHandler } from '../../../src/server/index.ts';
import { listen } from '../../../src/server/node-server.ts';
import { documentOf } from '../checked-handler.ts';
import { clientWithRun } from '../requests.ts';

const run = promisify(execFile);

/** Tools for OpenAPI. They are in a separate project, because the generator needs TypeScript 5. */
const TOOLS = ['@redocly/cli@2.77.0', 'openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3', '@types/node@24.19.2'];

const INSTALL_TIMEOUT_MS = 300_000;
const TOOL_TIMEOUT_MS = 120_000;

const project = await mkdtemp(join(tmpdir(), 'longhaul-openapi-'));
const unreachable = await installed();

afterAll(() => rm(project, { recursive: true, force: true }));

/** Installs the tools. Returns the reason why they cannot be had, if there is one. */
async function installed(): Promise<string | undefined> {
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'client', private: true, type: 'module' }));
  await writeFile(join(project, 'openapi.json'), JSON.stringify(await documentOf(createHandler(clientWithRun({})))));
  try {
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...TOOLS], { cwd: project, timeout: INSTALL_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    if (/E404|ETARGET|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|network/i.test(stderr))
      return `the registry does not give the tools: ${stderr.split('\n')[0]}`;
    throw error;
  }
}

function tool(name: string, args: string[]): Promise<{ stdout: string; stderr: string }> {
  return run(join(project, 'node_modules/.bin', name), args, { cwd: project, env: { ...process.env, REDOCLY_TELEMETRY: 'off' } });
}

test('the document has no problems and no warnings for the linter', { timeout: TOOL_TIMEOUT_MS }, async ({ skip }) => {
  skip(unreachable !== undefined, unreachable);
  const { stdout } = await tool('redocly', ['lint', '--format', 'json', '--max-problems', '50', 'openapi.json']);
  const report = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { totals: object; problems: { message: string }[] };
  expect(report.problems.map(({ message }) => message)).toEqual([]);
  expect(report.totals).toMatchObject({ errors: 0, warnings: 0 });
});

test(
  'a client with generated types compiles, calls the service, and a wrong call does not compile',
  { timeout: TOOL_TIMEOUT_MS },
  async ({ skip }) => {
    skip(unreachable !== undefined, unreachable);
    await tool('openapi-typescript', ['openapi.json', '--output', 'schema.d.ts']);
    await cp(fileURLToPath(new URL('client.ts.txt', import.meta.url)), join(project, 'client.ts'));
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--allowImportingTsExtensions', '--skipLibCheck'];
    const { stdout } = await tool('tsc', [...strict, '--module', 'nodenext', '--target', 'es2024', '--types', 'node', 'client.ts']);
    expect(stdout).toBe('');

    const approve = async (): Promise<never> => {
      throw new LonghaulError('already_decided', 'Call "c/1" was rejected');
    };
    const result = { output: 'Hi', status: 'completed' };
    const handler = createHandler(clientWithRun({ approve, result: async () => result }, { start: async () => ({ runId: 'r/1' }) }));
    const server = await listen(handler, { host: '127.0.0.1', port: 0 });
    try {
      const { stdout: said } = await run(process.execPath, ['client.ts', server.url], { cwd: project });
      expect(JSON.parse(said)).toEqual({ status: 201, runId: 'r/1', output: 'Hi', code: 'already_decided', refused: 409 });
    } finally {
      await server.close(0);
    }
  },
);
