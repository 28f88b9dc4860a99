import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPeers } from './install-peers.ts';
import { measureStage } from './measure-stage.ts';
import type { PeersOptions } from '../options/options.ts';
import { needsPlugins, type Phase, phasesOf, stagesOf } from './peer-phases.ts';
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
  const stages = stagesOf(phases);
  for (const [index, stage] of stages.entries()) {
    const minutes = ((performance.now() - start) / MINUTE_MS).toFixed(1);
    say(`${stage.map(({ name }) => name).join(', ')} (${index + 1} of ${stages.length}, after ${minutes} min)`);
    measured.push(...(await samplesOf(stage, options.resume, say)));
  }
  const report = reportOf(measured);
  write(options.out ?? FOLDER, measured, report, say);
  return report;
}

/** Returns the results of set-ups: measured now, or read from files if that was done before the command was interrupted. */
async function samplesOf(stage: [Phase, ...Phase[]], resume: boolean, say: Say): Promise<PhaseSamples[]> {
  const before = resume ? stage.map((phase) => measuredBefore(phase, say)) : [];
  const known = before.filter((samples) => samples !== undefined);
  if (known.length === stage.length) return known;
  const measured = await measureStage(stage, say);
  mkdirSync(MEASURED, { recursive: true });
  for (const samples of measured) writeFileSync(fileOf(samples.phase), JSON.stringify(samples));
  return measured;
}

function measuredBefore(phase: Phase, say: Say): PhaseSamples | undefined {
  if (!existsSync(fileOf(phase))) return undefined;
  const before = JSON.parse(readFileSync(fileOf(phase), 'utf8')) as PhaseSamples;
  if (JSON.stringify(before.phase) === JSON.stringify(phase)) return before;
  say(`${phase.name} was measured with other options: again`);
  return undefined;
}

function fileOf({ name }: Phase): string {
  return join(MEASURED, `${name.replaceAll(' ', '-')}.json`);
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
