import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { portOf } from '../../src/dev-server/start-flags.ts';
import { rounded } from '../figures/statistics.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = `${ROOT}/dist/src/cli/main.js`;

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
export async function measureDoctor(rounds: number, say: (line: string) => void): Promise<object> {
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
