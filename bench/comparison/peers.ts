import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPeers } from './install-peers.ts';
import { measurePhase } from './measure-phase.ts';
import type { PeersOptions } from '../options/options.ts';
import { needsPlugins, type Phase, phasesOf } from './peer-phases.ts';
import { historyPlot, latencyPlot } from './peer-plots.ts';
import { type PeersReport, reportOf } from './peer-report.ts';
import type { PhaseSamples } from './peer-samples.ts';
import { peerTable } from './peer-table.ts';

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
