import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LonghaulClient, memoryStreams } from '../../../../../src/client/index.ts';
import { type Caller, createHandler } from '../../../../../src/server/index.ts';
import { listen } from '../../../../../src/server/node/listen.ts';
import { say, scriptedModel } from '../../../../../src/testing/index.ts';
import { assistant } from '../../../testbed/agents.ts';
import { Testbed } from '../../../testbed/testbed.ts';

const run = promisify(execFile);

/** The fuzzer of OpenAPI services. It is written in Python, and stays in a folder of its own between runs. */
const FUZZER = 'schemathesis==4.32.5';
const FOLDER = fileURLToPath(new URL('../../../../../node_modules/.cache/schemathesis-4.32.5', import.meta.url));
const CHECKS = fileURLToPath(new URL('.', import.meta.url));

const INSTALL_TIMEOUT_MS = 300_000;
const FUZZ_TIMEOUT_MS = 900_000;

/** The least number of requests, and the most for each route beside those of the bounds of its schemas. */
const LEAST_CASES = 2_000;
const CASES_OF_ROUTE = 20;

/** The time after which streams are cut, in milliseconds. */
const STREAM_MS = 5_000;

/** The groups of routes in the document. */
const TAGS = ['runs', 'approvals', 'sessions', 'programs', 'agents', 'users', 'server'];

const unavailable = await installed();

/** Installs the fuzzer. Returns the reason why it cannot be had, if there is one. */
async function installed(): Promise<string | undefined> {
  try {
    await access(join(FOLDER, 'bin/schemathesis'));
    return undefined;
  } catch {
    // As below.
  }
  try {
    await mkdir(FOLDER, { recursive: true });
    await run('python3', ['-m', 'venv', FOLDER], { timeout: INSTALL_TIMEOUT_MS });
    await run(join(FOLDER, 'bin/pip'), ['install', '--quiet', FUZZER], { timeout: INSTALL_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    await rm(FOLDER, { recursive: true, force: true });
    return `${FUZZER} cannot be installed: ${String((error as { stderr?: string }).stderr ?? error).slice(0, 500)}`;
  }
}

test('a fuzzer that knows the OpenAPI document alone finds nothing in 2,000 requests', { timeout: FUZZ_TIMEOUT_MS }, async ({ skip }) => {
  skip(unavailable !== undefined, unavailable);
  await using testbed = await Testbed.open();
  const streams = memoryStreams();
  await testbed.work({
    agents: [assistant],
    providers: { scripted: scriptedModel(Array.from({ length: 10_000 }, () => say('Here it is'))) },
    streams,
  });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
  // What is deleted, and who is forgotten, is of this tenant.
  const caller: Caller = { id: 'fuzzer', scopes: ['admin'], principal: { tenant: `fuzzed-${randomUUID()}` } };
  const failures: unknown[] = [];
  const handler = createHandler(client, {
    agents: [assistant],
    // Streams end with the credentials: the fuzzer reads each to its end.
    authenticate: ({ headers }) =>
      headers.get('authorization') === 'Bearer fuzz' ? { ...caller, expiresAt: Date.now() + STREAM_MS } : undefined,
    tokenSecrets: ['s'.repeat(40)],
    limits: false,
    onError: (error) => failures.push(error),
  });
  const http = await listen(handler, { host: '127.0.0.1', port: 0 });
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-fuzz-'));
  try {
    const excluded = 'positive_data_acceptance,use_after_free,ensure_resource_availability';
    const fuzzed = async (tag: string): Promise<{ tag: string; stdout: string }> => {
      const args = [
        '--config-file',
        join(CHECKS, 'schemathesis.toml'),
        'run',
        `${http.url}/v1/openapi.json`,
        '--include-tag',
        tag,
        '--header',
        'Authorization: Bearer fuzz',
      ];
      const extent = ['--phases', 'coverage,fuzzing', '--max-examples', String(CASES_OF_ROUTE), '--seed', '1', '--no-shrink'];
      const options = ['--exclude-checks', excluded, '--continue-on-failure', '--request-timeout', '60', '--warnings', 'off', '--no-color'];
      const env = { ...process.env, PYTHONPATH: CHECKS, SCHEMATHESIS_HOOKS: 'checks' };
      const all = [...args, ...extent, ...options];
      const told = await run(join(FOLDER, 'bin/schemathesis'), all, { cwd: folder, env, maxBuffer: 64_000_000 }).catch(
        (error: { stdout: string; stderr: string }) => error,
      );
      return { tag, stdout: told.stdout };
    };
    // Most of the time is spent in waits for answers, so each group of routes has a process.
    const told = await Promise.all(TAGS.map(fuzzed));
    for (const { tag, stdout } of told) expect(`${tag}: ${stdout}`).toContain('No issues found');
    const cases = told.map(({ stdout }) => Number(/(\d+) generated/.exec(stdout)?.[1]));
    expect(cases.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(LEAST_CASES);
    expect(failures).toEqual([]);
  } finally {
    await http.close(0);
    await rm(folder, { recursive: true, force: true });
  }
});
