import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelClient, ModelRequest } from '../src/core/domain/model.ts';
import { FakeServer } from '../test/ai-sdk/fake-server.ts';
import { type Answer, COMPATIBLE } from '../test/ai-sdk/families.ts';
import { type Package, PACKAGES } from '../test/ai-sdk/packages.ts';
import { aiSdk, openai } from '../worker/index.ts';
import { median, rounded } from './figures/statistics.ts';
import type { ProvidersOptions } from './options.ts';

/** The measurements of one package. */
interface PackageFigures {
  package: string;
  spec: string;
  /** The tests of the suite that concern it. */
  scenarios: number;
  passed: number;
  /** Requests for each attempt, of calls that succeed and of calls that fail. */
  requestsPerAttempt: number;
  /** Milliseconds of a call by `aiSdk()`, with the package and the fake of its API. */
  adapterMsPerCall: number;
  /** The same over a call by `openai()`; null for a package of another API. */
  ratioToOpenai: number | null;
}

const SUITE = 'test/ai-sdk/packages.test.ts';

/** Calls of each side in a round, and the rounds that are not counted. */
const CALLS_AT_ONCE = 20;
const WARM_UP_ROUNDS = 3;

const ANSWER: Answer = { parts: [{ text: 'I look it up, and I say what I have found in the books. '.repeat(20) }] };

/** Runs the suite of the packages, and measures a call with each of them. */
export async function measureProviders(
  { rounds }: ProvidersOptions,
  say: (line: string) => void,
): Promise<{ packages: PackageFigures[]; rounds: number }> {
  const results = await suiteResults();
  const server = new FakeServer();
  const url = await server.start();
  try {
    const packages: PackageFigures[] = [];
    for (const one of PACKAGES) {
      const tests = results.filter(({ title }) => title.includes(`${one.name} (${one.spec})`));
      const passed = tests.filter(({ status }) => status === 'passed').length;
      // Those that do not concern the package are left out by the suite.
      const scenarios = tests.filter(({ status }) => status !== 'skipped' && status !== 'pending').length;
      const requestsPerAttempt = await requestsOf(server, url, one);
      const { ms, ratio } = await timesOf(server, url, one, rounds);
      say(`${one.name} ${one.spec}: ${passed} of ${scenarios} scenarios, ${ms} ms`);
      packages.push({
        package: one.name,
        spec: one.spec,
        scenarios,
        passed,
        requestsPerAttempt,
        adapterMsPerCall: ms,
        ratioToOpenai: ratio,
      });
    }
    return { packages, rounds };
  } finally {
    server.close();
  }
}

/** A test of the suite, as the reporter of vitest writes it. */
interface TestResult {
  title: string;
  status: string;
}

async function suiteResults(): Promise<TestResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-providers-'));
  const file = join(folder, 'results.json');
  try {
    const args = ['vitest', 'run', '--project', 'unit', SUITE, '--reporter=json', `--outputFile=${file}`];
    const child = spawn('npx', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    await new Promise((resolve) => child.on('close', resolve));
    const { testResults } = JSON.parse(await readFile(file, 'utf8')) as { testResults: { assertionResults: Assertion[] }[] };
    return testResults.flatMap(({ assertionResults }) => assertionResults.map(({ fullName, status }) => ({ title: fullName, status })));
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Assertion {
  fullName: string;
  status: string;
}

const requestFor = (model: string): ModelRequest => ({
  model,
  instructions: ['You are a clerk.'],
  conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: 'Look it up.' }] }],
  tools: [],
  settings: {},
});

/** Counts the requests of ten attempts. Every second one is refused. */
async function requestsOf(server: FakeServer, url: string, { family, modelId, model }: Package): Promise<number> {
  const attempts = 10;
  server.script(...Array.from({ length: attempts }, (_, index) => (index % 2 === 0 ? ANSWER : family.failure(503, 'Try later'))));
  const client = aiSdk((id) => model(url, id));
  for (let attempt = 0; attempt < attempts; attempt += 1) await call(client, modelId).catch(() => undefined);
  return server.requests.length / attempts;
}

/** Measures calls by turns: with the package, and with `openai()` if it speaks the same API. */
async function timesOf(
  server: FakeServer,
  url: string,
  { family, modelId, model }: Package,
  rounds: number,
): Promise<{ ms: number; ratio: number | null }> {
  const client = aiSdk((id) => model(url, id));
  const compared =
    family === COMPATIBLE ? openai({ baseURL: `${url}${COMPATIBLE.path}`, apiKey: 'a-key-of-tests', api: 'chat' }) : undefined;
  const times: { ms: number; ratio: number }[] = [];
  for (let round = 0; round < rounds + WARM_UP_ROUNDS; round += 1) {
    const first = await msPerCall(server, client, modelId);
    const other = compared === undefined ? first : await msPerCall(server, compared, modelId);
    if (round >= WARM_UP_ROUNDS) times.push({ ms: first, ratio: first / other });
  }
  return {
    ms: rounded(median(times.map(({ ms }) => ms)), 2),
    ratio: compared === undefined ? null : rounded(median(times.map(({ ratio }) => ratio)), 3),
  };
}

async function msPerCall(server: FakeServer, client: ModelClient, modelId: string): Promise<number> {
  server.script(...Array.from({ length: CALLS_AT_ONCE }, () => ANSWER));
  const begun = performance.now();
  for (let index = 0; index < CALLS_AT_ONCE; index += 1) await call(client, modelId);
  return (performance.now() - begun) / CALLS_AT_ONCE;
}

async function call(client: ModelClient, modelId: string): Promise<void> {
  await client.call(requestFor(modelId), { signal: AbortSignal.timeout(10_000), onDelta: () => undefined });
}
