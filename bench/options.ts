import { parseArgs } from 'node:util';
import { SIDE_NAMES, type SideName } from './comparison/peer-sides.ts';
import { GOVERNOR_FLAGS, GOVERNOR_USAGE, type GovernorBenchOptions, governorOptions } from './governor/governor-options.ts';
import { count, oneOf } from '../test/processes/command.ts';
import { type Codec, CODECS, type Pace, PACES, type Tier, TIERS } from './sides/side.ts';
import {
  SERVE_FLAGS,
  SERVE_USAGE,
  serveOptions,
  type ServeBenchOptions,
  STREAM_FLAGS,
  STREAM_USAGE,
  type StreamOptions,
  streamOptions,
} from './stream/stream-options.ts';
import { STUDIO_FLAGS, STUDIO_USAGE, type StudioBenchOptions, studioOptions } from './studio/studio-options.ts';

/** The options of a command line, checked. */
export type BenchOptions =
  | HistoryOptions
  | LatencyOptions
  | PeersOptions
  | EndlessOptions
  | CrowdOptions
  | ProgramOptions
  | CodeOptions
  | ChildrenOptions
  | MemoryOptions
  | FallbackOptions
  | TelemetryBenchOptions
  | GovernorBenchOptions
  | StudioBenchOptions
  | FirstHoursOptions
  | SiteBenchOptions
  | CacheOptions
  | ProvidersOptions
  | BatchBenchOptions
  | SessionBenchOptions
  | IdleSessionsOptions
  | StreamOptions
  | ServeBenchOptions
  | TuningCommand;

/** The options of `history`. */
export interface HistoryOptions {
  command: 'history';
  tier: Tier;
  /** With `burst`, Longhaul in bursts is compared with Longhaul without, and with the loop. */
  pace?: Pace;
  steps: number;
  resultChars: number;
  /** The reasoning before each answer of one more run; 0 for none. */
  reasoningChars: number;
  rounds: number;
  quiet: boolean;
}

/** The options of `latency`. */
export interface LatencyOptions {
  command: 'latency';
  tier: Tier;
  /** With `burst`, Longhaul in bursts is compared with Longhaul without, and with the loop. */
  pace?: Pace;
  steps: number;
  runs: number;
  /** Number of runs at the same time. */
  concurrency: number;
  resultChars: number;
  rounds: number;
  /** A commit to compare this project with, instead of with the loop. */
  against?: string;
  quiet: boolean;
}

/** The options of `endless`. */
export interface EndlessOptions {
  command: 'endless';
  steps: number;
  resultChars: number;
  quiet: boolean;
}

/** The options of `crowd`. */
export interface CrowdOptions {
  command: 'crowd';
  /** Number of runs at the same time. */
  runs: number;
  /** Number of runs that the worker caches. */
  cached: number;
  /** With `burst`, the heap of a worker is measured before and after the runs, which are in bursts. */
  pace?: Pace;
  steps: number;
  resultChars: number;
  quiet: boolean;
}

/** The options of `tuning`. */
export interface TuningCommand {
  command: 'tuning';
  rounds: number;
  /** A part of the names of the measured options; empty for all. */
  only: string;
  quiet: boolean;
}

/** The options of `peers`. */
export interface PeersOptions {
  command: 'peers';
  sides: SideName[];
  steps: number;
  resultChars: number;
  rounds: number;
  /** Number of runs at the same time, for the throughput. */
  atOnce: number;
  /** The codec of Longhaul, in addition to the other set-ups. */
  codec: Codec;
  /** If true, the measurements of an interrupted command are used again. */
  resume: boolean;
  /** The folder for table and plots; undefined for this one. */
  out: string | undefined;
  quiet: boolean;
}

/** The options of `program`. */
export interface ProgramOptions {
  command: 'program';
  steps: number;
  resultChars: number;
  /** Items that run at once; undefined for a chain of steps. */
  fanOut: number | undefined;
  rounds: number;
  quiet: boolean;
}

/** The options of `code`. */
export interface CodeOptions {
  command: 'code';
  steps: number;
  /** Calls of each step. */
  calls: number;
  resultChars: number;
  quiet: boolean;
}

/** The options of `children`. */
export interface ChildrenOptions {
  command: 'children';
  /** Agents that one response asks for. */
  children: number;
  resultChars: number;
  quiet: boolean;
}

/** The options of `memory`. */
export interface MemoryOptions {
  command: 'memory';
  /** Entries of the namespace that is searched. */
  entries: number;
  /** Entries of other namespaces in the same file. */
  otherEntries: number;
  /** Numbers of a vector; 0 for none. */
  dimensions: number;
  quiet: boolean;
}

/** The options of `fallback`. */
export interface FallbackOptions {
  command: 'fallback';
  runs: number;
  /** The fraction of its calls where the first model fails, from 0 to 1. */
  outage: number;
  quiet: boolean;
}

/** The options of `telemetry`. */
export interface TelemetryBenchOptions {
  command: 'telemetry';
  steps: number;
  /** Runs on each side, at least: in five rounds, each of an even number. */
  runs: number;
  /** Histories that are replayed. */
  histories: number;
  quiet: boolean;
}

/** The options of `cache`. */
export interface CacheOptions {
  command: 'cache';
  steps: number;
  /** Calls of each step. */
  calls: number;
  /** The steps after which the window is full; undefined for never. */
  compactEvery: number | undefined;
  quiet: boolean;
}

/** The options of `providers`. */
export interface ProvidersOptions {
  command: 'providers';
  rounds: number;
  quiet: boolean;
}

/** The options of `batch`. */
export interface BatchBenchOptions {
  command: 'batch';
  runs: number;
  /** How often a worker is killed meanwhile. */
  kills: number;
  quiet: boolean;
}

const HOURS_PARTS = ['create', 'completion', 'doctor'] as const;

/** The options of `first-hours`. */
export interface FirstHoursOptions {
  command: 'first-hours';
  part: (typeof HOURS_PARTS)[number];
  rounds: number;
  quiet: boolean;
}

/** The options of `site`. */
export interface SiteBenchOptions {
  command: 'site';
  /** Searches of each question. */
  rounds: number;
  quiet: boolean;
}

/** The usage of `first-hours` and `site`. */
const HOURS_USAGE = `  npm run bench -- first-hours [--part create|completion|doctor] [--rounds 11] [--json]
  npm run bench -- site [--rounds 3] [--json]`;

/** Reads the options of `first-hours`. Throws an error whose message describes the mistake. */
function firstHoursOptions({
  part = 'create',
  rounds = part === 'doctor' ? '3' : '11',
}: {
  part?: string | undefined;
  rounds?: string | undefined;
}): Omit<FirstHoursOptions, 'quiet'> {
  return {
    command: 'first-hours',
    part: oneOf('part', part, HOURS_PARTS),
    rounds: count('rounds', rounds),
  };
}

/** The usage of the command. */
export const USAGE = `Usage:
  npm run bench -- history [--tier remote|local] [--pace burst] [--steps 200] [--result-chars 2000] [--reasoning-chars 0] [--rounds 3] [--json]
  npm run bench -- latency [--tier remote|local] [--pace burst] [--steps 200] [--runs 5] [--concurrency 1] [--result-chars 200] [--rounds 3]
                           [--against COMMIT] [--json]
  npm run bench -- peers [--steps 200] [--result-chars 2000] [--concurrency 20] [--rounds 5] [--codec none|zstd]
                         [--sides ${SIDE_NAMES.join(',')}] [--resume] [--out DIR] [--json]
  npm run bench -- endless [--steps 10000] [--result-chars 2000] [--json]
  npm run bench -- crowd [--pace burst] [--runs 200] [--cached 50] [--steps 5] [--result-chars 2000] [--json]
  npm run bench -- program [--steps 200] [--result-chars 2000] [--fan-out ITEMS_AT_ONCE] [--rounds 3] [--json]
  npm run bench -- code [--steps 50] [--calls 10] [--result-chars 2000] [--json]
  npm run bench -- children [--children 100] [--result-chars 2000] [--json]
  npm run bench -- memory [--entries 10000] [--other-entries 0] [--dimensions 0] [--json]
  npm run bench -- fallback [--runs 100] [--outage 0.5] [--json]
  npm run bench -- telemetry [--steps 20] [--runs 50] [--histories 200] [--json]
${GOVERNOR_USAGE}
${STUDIO_USAGE}
${HOURS_USAGE}
  npm run bench -- cache [--steps 40] [--calls 1] [--compact-every STEPS] [--json]
  npm run bench -- providers [--rounds 11] [--json]
  npm run bench -- batch [--runs 1000] [--kills 20] [--json]
  npm run bench -- session [--messages 10000] [--result-chars 500] [--idle-seconds 60] [--json]
  npm run bench -- idle-sessions [--sessions 2000] [--cached 50] [--result-chars 500] [--json]
${STREAM_USAGE}
${SERVE_USAGE}
  npm run bench -- tuning [--only NAME] [--rounds 3] [--json]`;

/** The commands whose results are not of 2,000 characters by default. */
const USUAL_CHARS: Partial<Record<string, string>> = { latency: '200', session: '500', 'idle-sessions': '500' };

const RUNS_AT_ONCE = '20';

/** A median needs at least three rounds. */
const MIN_ROUNDS = 3;

/** Bounds are on ratios: their medians wander with fewer rounds. */
const PEER_ROUNDS = 5;
const PROVIDER_ROUNDS = 11;

/** The first and the last tenth of a run are compared. */
const PARTS_OF_A_RUN = 10;

/** Each tenth of a session has readings of the memory, and at least one turn with a time. */
const LEAST_MESSAGES = 100;

const FLAGS = {
  steps: { type: 'string' },
  tier: { type: 'string', default: 'remote' },
  pace: { type: 'string' },
  against: { type: 'string' },
  'result-chars': { type: 'string' },
  runs: { type: 'string' },
  histories: { type: 'string', default: '200' },
  cached: { type: 'string', default: '50' },
  calls: { type: 'string' },
  'compact-every': { type: 'string' },
  'reasoning-chars': { type: 'string', default: '0' },
  children: { type: 'string', default: '100' },
  entries: { type: 'string', default: '10000' },
  'other-entries': { type: 'string', default: '0' },
  dimensions: { type: 'string', default: '0' },
  kills: { type: 'string', default: '20' },
  outage: { type: 'string', default: '0.5' },
  sessions: { type: 'string', default: '2000' },
  messages: { type: 'string', default: '10000' },
  'idle-seconds': { type: 'string', default: '60' },
  concurrency: { type: 'string' },
  rounds: { type: 'string' },
  codec: { type: 'string', default: 'none' },
  sides: { type: 'string', default: SIDE_NAMES.join(',') },
  resume: { type: 'boolean', default: false },
  out: { type: 'string' },
  only: { type: 'string', default: '' },
  'fan-out': { type: 'string' },
  ...STREAM_FLAGS,
  ...GOVERNOR_FLAGS,
  ...STUDIO_FLAGS,
  ...SERVE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof readFlags>['values'];

function readFlags(args: readonly string[]) {
  return parseArgs({ args: [...args], allowPositionals: true, options: FLAGS });
}

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = readFlags(args);
  const [command, ...rest] = positionals;
  if (rest.length > 0) throw new Error(`One command is enough: "${rest.join(' ')}" is left over`);
  const quiet = values.json;
  const steps = (usual: string, least?: number): number => count('steps', values.steps ?? usual, least);
  const resultChars = count('result-chars', values['result-chars'] ?? USUAL_CHARS[command ?? ''] ?? '2000');
  const comparesSides = command === 'peers' || values.pace !== undefined || values.against !== undefined;
  const rounds = count('rounds', values.rounds ?? String(comparesSides ? PEER_ROUNDS : MIN_ROUNDS), MIN_ROUNDS);
  const tier = oneOf('tier', values.tier, TIERS);
  const pace = paceOf(values, tier);
  if (values.against !== undefined && command !== 'latency') throw new Error('--against is an option of "latency" alone');
  switch (command) {
    case 'history':
      return {
        command,
        tier,
        ...pace,
        steps: steps('200'),
        resultChars,
        reasoningChars: count('reasoning-chars', values['reasoning-chars'], 0),
        rounds,
        quiet,
      };
    case 'latency': {
      const runs = count('runs', values.runs ?? '5');
      return {
        command,
        tier,
        ...pace,
        steps: steps('200'),
        runs,
        concurrency: count('concurrency', values.concurrency ?? '1'),
        resultChars,
        rounds,
        ...againstOf(values),
        quiet,
      };
    }
    case 'peers':
      return { command, ...peersOptions(values), steps: steps('200'), resultChars, rounds, quiet };
    case 'endless':
      return { command, steps: steps('10000', PARTS_OF_A_RUN), resultChars, quiet };
    case 'crowd':
      return {
        command,
        runs: count('runs', values.runs ?? '200'),
        cached: count('cached', values.cached),
        ...pace,
        steps: steps(pace.pace === 'burst' ? '16' : '5'),
        resultChars,
        quiet,
      };
    case 'program': {
      const fanOut = values['fan-out'] === undefined ? undefined : count('fan-out', values['fan-out']);
      return { command, steps: steps(fanOut === undefined ? '200' : '1000'), resultChars, fanOut, rounds, quiet };
    }
    case 'code':
      return { command, steps: steps('50'), calls: count('calls', values.calls ?? '10'), resultChars, quiet };
    case 'children':
      return { command, children: count('children', values.children), resultChars, quiet };
    case 'memory':
      return { command, ...memoryOptions(values), quiet };
    case 'fallback':
      return { command, runs: count('runs', values.runs ?? '100'), outage: outageOf(values.outage), quiet };
    case 'telemetry':
      return {
        command,
        steps: steps('20'),
        runs: count('runs', values.runs ?? '50'),
        histories: count('histories', values.histories),
        quiet,
      };
    case 'studio':
      return { ...studioOptions(values), quiet };
    case 'first-hours':
      return { ...firstHoursOptions(values), quiet };
    case 'site':
      return { command, rounds, quiet };
    case 'governor':
      return { ...governorOptions(values), quiet };
    case 'cache': {
      const every = values['compact-every'];
      const compactEvery = every === undefined ? undefined : count('compact-every', every);
      return { command, steps: steps('40'), calls: count('calls', values.calls ?? '1'), compactEvery, quiet };
    }
    case 'providers':
      return { command, rounds: values.rounds === undefined ? PROVIDER_ROUNDS : rounds, quiet };
    case 'batch':
      return { command, runs: count('runs', values.runs ?? '1000'), kills: count('kills', values.kills, 0), quiet };
    case 'session': {
      const idleSeconds = count('idle-seconds', values['idle-seconds']);
      return { command, messages: count('messages', values.messages, LEAST_MESSAGES), resultChars, idleSeconds, quiet };
    }
    case 'idle-sessions':
      return { command, sessions: count('sessions', values.sessions), cached: count('cached', values.cached), resultChars, quiet };
    case 'stream':
      return { ...streamOptions(values), quiet };
    case 'serve':
      return { ...serveOptions(values), quiet };
    case 'tuning':
      return { command, rounds, only: values.only, quiet };
    default:
      throw new Error(command === undefined ? 'Which command?' : `There is no command "${command}"`);
  }
}

function paceOf({ pace }: Values, tier: Tier): { pace?: Pace } {
  if (pace === undefined) return {};
  if (tier === 'local') throw new Error('--pace compares bursts with remote calls: leave out --tier');
  return { pace: oneOf('pace', pace, PACES) };
}

function againstOf({ against, pace }: Values): { against?: string } {
  if (against === undefined) return {};
  if (pace !== undefined) throw new Error('--against compares commits without bursts: leave out --pace');
  return { against };
}

function outageOf(text: string): number {
  const outage = Number(text);
  if (text.trim() !== '' && outage >= 0 && outage <= 1) return outage;
  throw new Error(`--outage is "${text}": write a number from 0 to 1`);
}

function memoryOptions(values: Values): Pick<MemoryOptions, 'entries' | 'otherEntries' | 'dimensions'> {
  return {
    entries: count('entries', values.entries),
    otherEntries: count('other-entries', values['other-entries'], 0),
    dimensions: count('dimensions', values.dimensions, 0),
  };
}

function peersOptions({
  sides,
  concurrency,
  codec,
  resume,
  out,
}: Values): Pick<PeersOptions, 'sides' | 'atOnce' | 'codec' | 'resume' | 'out'> {
  return {
    sides: sides.split(',').map((side) => oneOf('sides', side, SIDE_NAMES)),
    atOnce: count('concurrency', concurrency ?? RUNS_AT_ONCE),
    codec: oneOf('codec', codec, CODECS),
    resume,
    out,
  };
}

/** The options of `session`. */
export interface SessionBenchOptions {
  command: 'session';
  messages: number;
  /** The length of an answer in characters. */
  resultChars: number;
  /** How long the session is left idle. */
  idleSeconds: number;
  quiet: boolean;
}

/** The options of `idle-sessions`. */
export interface IdleSessionsOptions {
  command: 'idle-sessions';
  sessions: number;
  /** Number of sessions that the worker caches. */
  cached: number;
  resultChars: number;
  quiet: boolean;
}
