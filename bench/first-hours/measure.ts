import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { BegunProject } from '../../test/first-hours/begun-project.ts';
import { LocalRegistry } from '../../test/first-hours/local-registry.ts';
import { missingTools } from '../../test/first-hours/tools.ts';
import { TwoTerminals } from '../../test/first-hours/two-terminals.ts';
import { median, percentile, rounded } from '../figures/statistics.ts';
import { measureDoctor } from './doctor.ts';
import type { FirstHoursOptions } from '../options.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

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
