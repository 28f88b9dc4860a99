import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LonghaulClient, memoryStreams } from '../../../../../src/client/index.ts';
import { isToolCall } from '../../../../../src/core/domain/content.ts';
import { errorCode } from '../../../../../src/core/domain/errors.ts';
import type { ModelClient } from '../../../../../src/core/domain/model.ts';
import { defineAgent, defineTool } from '../../../../../src/index.ts';
import { type Caller, createHandler } from '../../../../../src/server/index.ts';
import { type HttpServer, listen } from '../../../../../src/server/node-server.ts';
import { atOnce } from '../../../../processes/at-once.ts';
import { secondsSince } from '../../../../processes/timings.ts';
import { assistant } from '../../../testbed/agents.ts';
import { pythonEnvironment } from '../../../testbed/python-environment.ts';
import { Testbed } from '../../../testbed/testbed.ts';

const run = promisify(execFile);

/** The fuzzer of OpenAPI services, which is written in Python. */
const FUZZER = 'schemathesis==4.32.5';
const CHECKS = fileURLToPath(new URL('.', import.meta.url));

/** The minimum number of requests, and the maximum of random ones per route, in addition to the ones at the bounds of its schemas. */
const LEAST_CASES = 2_000;
const CASES_OF_ROUTE = 20;

/** The longest time of each group of routes, in seconds: on a busy machine the last ones of a group get fewer requests. */
const GROUP_SECONDS = 120;

/** The most requests that fail because the dev server, which shares the processors with the fuzzers, does not answer in time. */
const MOST_UNANSWERED = 5;

/** The time after which streams are cut, in milliseconds. */
const STREAM_MS = 500;

/** The groups of routes in the document, those that take longest first. */
const TAGS = ['runs', 'sessions', 'programs', 'approvals', 'agents', 'users', 'server'];

/** The same seed sends the same requests. */
const SEED = process.env['FUZZ_SEED'] ?? '1';

/** Runs and sessions of each kind that exist when the fuzzer begins: requests end and remove them. */
const OF_EACH_KIND = 12;

const { python, missing } = await pythonEnvironment([FUZZER]);

/** Its calls wait for a decision. */
const careful = defineAgent({
  name: 'careful',
  model: 'scripted/careful',
  tools: [defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'paid' })],
});
const agents = [assistant, careful];

/** Answers any request at once. */
const model: ModelClient = {
  capabilities: { structuredOutput: true },
  call: async ({ model: name, conversation, tools }) => {
    const pays = name === 'careful' && tools.length > 0 && !conversation.some(({ content }) => content.some(isToolCall));
    const toolCalls = pays ? [{ id: 'pay-1', name: 'pay', arguments: {} }] : [];
    return { content: 'Here it is', toolCalls, usage: null, finishReason: pays ? 'tool_calls' : 'stop' };
  },
};

describe.skipIf(python === undefined)(`a fuzzer${missing === undefined ? '' : `, which cannot be had: ${missing}`}`, () => {
  let testbed: Testbed;
  let http: HttpServer;
  let known: string;
  const failures: unknown[] = [];

  beforeAll(async () => {
    testbed = await Testbed.open();
    const streams = memoryStreams();
    // Requests to a run that has not resolved its agent wait: a run of an agent that no worker has ends soon.
    await testbed.work({ agents, providers: { scripted: model }, streams, missingTimeout: '1s' });
    const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
    // Deleted runs and forgotten users belong to this tenant.
    const caller: Caller = { id: 'fuzzer', scopes: ['admin'], principal: { tenant: `fuzzed-${randomUUID()}` } };
    known = JSON.stringify(await knownNames(client.as(caller.principal ?? {})));
    const handler = createHandler(client, {
      agents,
      // Streams end with the credentials: the fuzzer reads each to its end.
      authenticate: ({ headers }) =>
        headers.get('authorization') === 'Bearer fuzz' ? { ...caller, expiresAt: Date.now() + STREAM_MS } : undefined,
      tokenSecrets: ['s'.repeat(40)],
      limits: false,
      onError: (error) => failures.push(error),
    });
    http = await listen(handler, { host: '127.0.0.1', port: 0 });
  });

  afterAll(async () => {
    await http.close(0);
    await testbed[Symbol.asyncDispose]();
  });

  test('that knows the OpenAPI document alone finds nothing in 2,000 requests', { timeout: 900_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'longhaul-fuzz-'));
    try {
      const tags = process.env['FUZZ_TAG']?.split(',') ?? TAGS;
      const cases = await atOnce(tags, cpus().length, async (tag) => {
        const begun = performance.now();
        const told = await fuzzed(tag, folder);
        const count = Number(/(\d+) generated/.exec(told)?.[1] ?? 0);
        process.stdout.write(`[fuzz] ${tag}: ${count} requests in ${secondsSince(begun)} s\n`);
        const hasFound = !told.includes('No issues found');
        if (hasFound) process.stdout.write(told);
        expect.soft(hasFound, `FUZZ_SEED=${SEED} FUZZ_TAG=${tag} npm run fuzz finds: ${foundIn(told)}`).toBe(false);
        return count;
      });
      const all = cases.reduce((sum, count) => sum + count, 0);
      expect(all).toBeGreaterThanOrEqual(tags.length === TAGS.length ? LEAST_CASES : 1);
      const unanswered = failures.filter((error) => errorCode(error) === 'server_unreachable');
      for (const error of unanswered) process.stdout.write(`[fuzz] the server did not answer: ${inspect(error)}\n`);
      expect(unanswered.length).toBeLessThanOrEqual(MOST_UNANSWERED);
      expect(failures.filter((error) => !unanswered.includes(error))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  /** Fuzzes a group of routes. Returns what the fuzzer has printed. */
  async function fuzzed(tag: string, folder: string): Promise<string> {
    const excluded = 'positive_data_acceptance,use_after_free,ensure_resource_availability';
    const target = ['--config-file', join(CHECKS, 'schemathesis.toml'), 'run', `${http.url}/v1/openapi.json`, '--include-tag', tag];
    const extent = [
      '--phases',
      'coverage,fuzzing',
      '--max-examples',
      String(CASES_OF_ROUTE),
      '--seed',
      SEED,
      '--no-shrink',
      '--max-time',
      String(GROUP_SECONDS),
    ];
    const options = ['--exclude-checks', excluded, '--continue-on-failure', '--request-timeout', '60', '--warnings', 'off', '--no-color'];
    const args = ['-m', 'schemathesis.cli', ...target, '--header', 'Authorization: Bearer fuzz', ...extent, ...options];
    const env = { ...process.env, PYTHONPATH: CHECKS, PYTHONDONTWRITEBYTECODE: '1', SCHEMATHESIS_HOOKS: 'checks', FUZZ_KNOWN: known };
    const { stdout, stderr } = await run(python ?? '', args, { cwd: folder, env, maxBuffer: 64_000_000 }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    return `${stdout}${stderr}`;
  }
});

/** The findings in what the fuzzer has printed, in one line: reports of tests have no more. */
function foundIn(told: string): string {
  const [findings = told] = /^=+ (?:ERRORS|FAILURES) =+$[^]*?(?=^=+ SUMMARY =+$)/m.exec(told) ?? [];
  return findings.replaceAll(/[\s=_]+/g, ' ').slice(0, 1_000);
}

/** Starts runs and sessions of each kind. Returns names that requests may have, by the name of the parameter. */
async function knownNames(client: LonghaulClient): Promise<Record<string, string[]>> {
  const numbers = Array.from({ length: OF_EACH_KIND }, (_, number) => number);
  const runs = await atOnce(numbers, OF_EACH_KIND, async (number) => {
    const [ended, waiting] = await Promise.all([
      client.run(assistant, { input: 'Q', runId: `fuzz-ended-${number}` }),
      client.start(careful, { input: 'Q', runId: `fuzz-waiting-${number}` }),
    ]);
    return [ended.runId, waiting.runId];
  });
  const sessions = await atOnce(numbers, OF_EACH_KIND, async (number) => {
    const session = client.session(assistant, { id: `fuzz-session-${number}` });
    await session.ask('Q');
    return session.id;
  });
  return { runId: [...runs.flat(), ...sessions], sessionId: sessions, callId: ['pay-1'], agent: agents.map(({ name }) => name) };
}
