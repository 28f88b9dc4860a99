import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measurePhase } from './measure-phase.ts';
import type { PeersOptions } from '../options.ts';
import { needsPlugins, type Phase, phasesOf, type PhaseSamples } from './peer-phases.ts';
import { historyPlot, latencyPlot, peerTable } from './peer-page.ts';
import { type PeersReport, reportOf } from './peer-report.ts';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';

type Say = (line: string) => void;

const FOLDER = fileURLToPath(new URL('..', import.meta.url));
const MEASURED = join(FOLDER, '.cache', 'peers');
const MINUTE_MS = 60_000;

/** Measures all set-ups of `peers` in order, writes the table and the plots, and returns the figures. */
export async function comparePeers(options: PeersOptions, say: Say): Promise<PeersReport> {
  const start = performance.now();
  const phases = phasesOf(options);
  if (needsPlugins(phases)) await installPeers(say);
  const measured: PhaseSamples[] = [];
  for (const [index, phase] of phases.entries()) {
    const minutes = ((performance.now() - start) / MINUTE_MS).toFixed(1);
    say(`${phase.name} (${index + 1} of ${phases.length}, after ${minutes} min)`);
    measured.push(await samplesOf(phase, options.resume, say));
  }
  const report = reportOf(measured);
  write(options.out ?? FOLDER, measured, report, say);
  return report;
}

/** Returns the result of a set-up: measured now, or read from a file if that was done before the command was interrupted. */
async function samplesOf(phase: Phase, resume: boolean, say: Say): Promise<PhaseSamples> {
  const file = join(MEASURED, `${phase.name.replaceAll(' ', '-')}.json`);
  if (resume && existsSync(file)) {
    const before = JSON.parse(readFileSync(file, 'utf8')) as PhaseSamples;
    if (JSON.stringify(before.phase) === JSON.stringify(phase)) return before;
    say('was measured otherwise: again');
  }
  const samples = await measurePhase(phase, say);
  mkdirSync(MEASURED, { recursive: true });
  writeFileSync(file, JSON.stringify(samples));
  return samples;
}

function write(folder: string, measured: readonly PhaseSamples[], report: PeersReport, say: Say): void {
  mkdirSync(folder, { recursive: true });
  const files = {
    'peers.md': peerTable(report),
    'peers-history.svg': historyPlot(measured),
    'peers-latency.svg': latencyPlot(measured),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  say(`wrote ${Object.keys(files).join(', ')} to ${folder}`);
}

const PEERS = fileURLToPath(new URL('../peers', import.meta.url));
const LOCKFILE = join(PEERS, 'package-lock.json');
const INSTALLED = join(PEERS, 'node_modules', '.installed-from');

/**
 * Installs the plugins into `bench/peers/node_modules`, from the lockfile there, unless they are installed. They pin versions
 * of the SDK that are not Longhaul's, so they stay out of the project's own tree. Throws if npm fails.
 */
async function installPeers(say: (line: string) => void): Promise<void> {
  const digest = createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex');
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === digest) return;
  say('installing the plugins (350 MB, once)');
  const npm = spawn('npm', ['ci', '--prefix', PEERS, '--ignore-scripts', '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2] });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0)
    throw new Error('npm could not install the plugins: see its output above, or leave them out with "--sides longhaul,loop,value-loop"');
  writeFileSync(INSTALLED, digest);
}
