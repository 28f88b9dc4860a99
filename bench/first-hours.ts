import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { BegunProject } from '../test/first-hours/begun-project.ts';
import { LocalRegistry } from '../test/first-hours/local-registry.ts';
import { missingTools } from '../test/first-hours/tools.ts';
import { TwoTerminals } from '../test/first-hours/two-terminals.ts';
import { median, percentile, rounded } from './figures/statistics.ts';
import type { FirstHoursOptions } from './options.ts';
import { createServer, type Socket } from 'node:net';
import { portOf } from '../src/dev-server/start-flags.ts';

const MAIN = fileURLToPath(new URL('../dist/src/cli/main.js', import.meta.url));

/** Measures what a person waits for in the first hours. */
export async function measureFirstHours({ part, rounds }: FirstHoursOptions, say: (line: string) => void): Promise<object> {
  if (part === 'doctor') return measureDoctor(rounds, say);
  return part === 'completion' ? measureCompletion(rounds) : measureCreation(say);
}

/** The time that a shell waits for candidates if there is no server. */
async function measureCompletion(rounds: number): Promise<object> {
  const env = { ...process.env, TEMPORAL_ADDRESS: '127.0.0.1:9' };
  const call = promisify(execFile);
  const times = async (words: readonly string[]): Promise<number[]> => {
    const found: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      await call(process.execPath, [MAIN, 'completion', 'bash', '--', ...words], { env });
      found.push(performance.now() - began);
    }
    return found;
  };
  const [options, values] = [await times(['list', '--stat']), await times(['show', ''])];
  return {
    part: 'completion',
    rounds,
    optionsMs: rounded(median(options), 0),
    optionsMsP95: rounded(percentile(options, 95), 0),
    withoutServerMs: rounded(median(values), 0),
    withoutServerMsP95: rounded(percentile(values, 95), 0),
  };
}

/** From `npm create` to the first answer, against the installation alone. */
async function measureCreation(say: (line: string) => void): Promise<object> {
  const missing = await missingTools();
  if (missing !== '') throw new Error(missing);
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-first-hours-'));
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  try {
    await using registry = await LocalRegistry.start(folder);
    // Once before, so that both sides find the same in the caches of npm and of the registry.
    const first = await mkdtemp(join(folder, 'first-'));
    await using warm = await BegunProject.begin({ folder: first, registry, template: 'basic', packageManager: 'npm', server });
    const alone = await mkdtemp(join(folder, 'alone-'));
    await cp(join(warm.path, 'package.json'), join(alone, 'package.json'));
    const installSeconds = await secondsOf(() => new TwoTerminals(alone, registry.env).run('npm install'));
    say(`npm install alone took ${installSeconds.toFixed(1)} s`);
    const second = await mkdtemp(join(folder, 'second-'));
    const began = performance.now();
    await using project = await BegunProject.begin({ folder: second, registry, template: 'basic', packageManager: 'npm', server });
    await project.firstAnswer();
    const totalSeconds = (performance.now() - began) / 1_000;
    return {
      part: 'create',
      commands: project.commands.length,
      files: (await project.files()).length,
      installSeconds: rounded(installSeconds, 1),
      totalSeconds: rounded(totalSeconds, 1),
      ratio: rounded(totalSeconds / installSeconds, 2),
    };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const CLERK = `import { defineAgent } from 'longhaul';
import { say, scriptedModel } from 'longhaul/testing';
import { redisStreams } from 'longhaul/worker';
export const providers = { scripted: scriptedModel([say('ok')]) };`;

/** An installation without problems. */
const HEALTHY = `${CLERK}\nexport const agents = [defineAgent({ name: 'clerk', model: 'scripted/m' })];`;

/** One whose module never loads, so that its checks begin last. */
const NEVER_LOADS = `setInterval(() => undefined, 60_000);\nawait new Promise(() => undefined);\n${HEALTHY}`;

/** One whose module loads at the last moment, and where nothing answers: each check takes all of its time. */
const SILENT = (port: number): string => `await new Promise((resolve) => setTimeout(resolve, 3_000));
${HEALTHY}
const never = () => new Promise(() => undefined);
export const streams = redisStreams({ url: 'redis://127.0.0.1:${port}' });
export const memory = { remember: never, recall: never, forget: never, list: never };
export const payloadStore = { name: 'silent', type: 'silent', store: never, retrieve: never, deleteRun: never };`;

/** One call: the time until its process ended, and what it reported. */
interface Call {
  ms: number;
  code: number;
  checks: { name: string; status: string }[];
}

/** Measures `longhaul doctor` where all is well, and where nothing answers. */
async function measureDoctor(rounds: number, say: (line: string) => void): Promise<object> {
  const folder = `${ROOT}/.cache/doctor-bench-${process.pid}`;
  await mkdir(folder, { recursive: true });
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const port = portOf(silent);
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  try {
    const examined = async (module: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Call[]> => {
      await writeFile(`${folder}/agents.ts`, module);
      const calls: Call[] = [];
      for (let round = 0; round < rounds; round += 1) calls.push(await called(folder, args, env));
      return calls;
    };
    await called(folder, ['--fix', '--address', server.address], {});
    const healthy = await examined(HEALTHY, ['--address', server.address]);
    const wrong = healthy.flatMap(({ code, checks }) => (code === 0 ? [] : checks.filter(({ status }) => status === 'fail')));
    if (wrong.length > 0) throw new Error(`What should be healthy is not: ${wrong.map(({ name }) => name).join(', ')}`);
    const address = ['--address', `127.0.0.1:${port}`];
    const keys = { LONGHAUL_ENCRYPTION_KEYS: `2026:${Buffer.alloc(32, 7).toString('base64')}` };
    const never = await examined(NEVER_LOADS, address);
    const mute = await examined(SILENT(port), [...address, '--codec-endpoint', `http://127.0.0.1:${port}`], keys);
    const most = (calls: readonly Call[]): number => rounded(Math.max(...calls.map(({ ms }) => ms)), 0);
    return {
      part: 'doctor',
      rounds,
      healthyMs: most(healthy),
      neverLoadsMs: most(never),
      silentMs: most(mute),
      failedOfSilent: mute[0]?.checks.filter(({ status }) => status === 'fail').map(({ name }) => name),
    };
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function called(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Call> {
  const began = performance.now();
  const [code, printed] = await new Promise<[code: number, printed: string]>((resolve) => {
    const child = execFile(process.execPath, [MAIN, 'doctor', '--json', ...args], { cwd, env: { ...process.env, ...env } }, (_, stdout) =>
      resolve([child.exitCode ?? -1, stdout]),
    );
  });
  const ms = performance.now() - began;
  return { ms, code, checks: (JSON.parse(printed) as Pick<Call, 'checks'>).checks };
}
