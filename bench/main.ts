import { measureCrowd } from './endless/crowd.ts';
import { measureBatch } from './batch.ts';
import { measureBurstsAtOnce, measureBursts } from './bursts.ts';
import { measureChildren } from './children.ts';
import { measureCode } from './code.ts';
import { measureCommits } from './commits.ts';
import { measureEndless } from './endless/endless.ts';
import { beginCommand } from '../test/processes/command.ts';
import { impossibleFigures } from './figures/impossible-figures.ts';
import { measureHistories, measureReasoning } from './histories.ts';
import { measureLatency, latencyReport } from './latency.ts';
import { type BenchOptions, parseOptions, USAGE } from './options.ts';
import { measureCache } from './cache.ts';
import { measureFallback } from './fallback.ts';
import { measureFirstHours } from './first-hours.ts';
import { measureGovernor } from './governor/governor.ts';
import { measureProviders } from './providers.ts';
import { comparePeers } from './comparison/peers.ts';
import { measureMemory } from './memory.ts';
import { measureIdleSessions } from './session/idle-sessions.ts';
import { measureSite } from './site.ts';
import { measureServe } from './stream/serve.ts';
import { measureSession } from './session/session.ts';
import { measureStream } from './stream/stream.ts';
import { measureProgram } from './program.ts';
import { measureStudio } from './studio/studio.ts';
import { measureTelemetry } from './telemetry.ts';
import { measureTuning } from './tuning.ts';
import { type Surroundings, withSurroundings } from './sides/surroundings.ts';

/** `npm run bench`: measures, reports its progress on stderr, and prints one JSON object as its last line. */

/** The object of the last line: the main figures first, and then those that explain them. */
async function report(surroundings: Surroundings, options: Extract<BenchOptions, { command: 'history' | 'latency' }>): Promise<object> {
  const { rounds, resultChars, steps, tier } = options;
  const { machine, clock } = surroundings;
  const setting = (): object => ({ rounds, resultChars, retries: clock.retries, codec: machine.codec, server: machine.server, machine });
  if (options.command === 'history') {
    const { longhaul, loop } = await measureHistories(surroundings, options, say);
    const reasoning = options.reasoningChars === 0 ? {} : { reasoning: await measureReasoning(surroundings, options) };
    return { tier, steps, ...longhaul, ...reasoning, loop, ...setting() };
  }
  return { ...latencyReport(options, await measureLatency(surroundings, options, say)), ...setting() };
}

async function measured(asked: BenchOptions): Promise<object> {
  if (asked.command === 'peers') return comparePeers(asked, say);
  if (asked.command === 'endless') return measureEndless(asked, say);
  if (asked.command === 'crowd') return asked.pace === 'burst' ? measureBurstsAtOnce(asked, say) : measureCrowd(asked, say);
  if (asked.command === 'program') return measureProgram(asked, say);
  if (asked.command === 'code') return measureCode(asked, say);
  if (asked.command === 'children') return measureChildren(asked, say);
  if (asked.command === 'fallback') return measureFallback(asked, say);
  if (asked.command === 'telemetry') return measureTelemetry(asked, say);
  if (asked.command === 'studio') return measureStudio(asked, say);
  if (asked.command === 'first-hours') return measureFirstHours(asked, say);
  if (asked.command === 'site') return measureSite(asked, say);
  if (asked.command === 'governor') return measureGovernor(asked, say);
  if (asked.command === 'cache') return measureCache(asked, say);
  if (asked.command === 'providers') return measureProviders(asked, say);
  if (asked.command === 'batch') return measureBatch(asked, say);
  if (asked.command === 'memory') return measureMemory(asked, say);
  if (asked.command === 'session') return measureSession(asked, say);
  if (asked.command === 'idle-sessions') return measureIdleSessions(asked, say);
  if (asked.command === 'stream') return measureStream(asked, say);
  if (asked.command === 'serve') return measureServe(asked, say);
  if (asked.command === 'tuning') return measureTuning(asked, say);
  if (asked.command === 'latency' && asked.against !== undefined) return measureCommits({ ...asked, against: asked.against }, say);
  if (asked.pace === 'burst') return measureBursts({ ...asked, pace: 'burst' }, say);
  return withSurroundings(asked, say, (surroundings) => report(surroundings, asked));
}

const { options, say } = beginCommand('bench', { parse: parseOptions, usage: USAGE });
const figures = await measured(options);
const impossible = impossibleFigures(figures);
if (!options.quiet) say(JSON.stringify(figures, null, 2));
process.stdout.write(`${JSON.stringify(figures)}\n`);
if (impossible.length > 0) {
  process.stderr.write(`These figures cannot be, so nothing here can be trusted:\n${impossible.join('\n')}\n`);
  process.exitCode = 1;
}
