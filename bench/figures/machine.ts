import type { Client } from '@temporalio/client';
import { createRequire } from 'node:module';
import { cpus, platform, release, totalmem } from 'node:os';
import { readdirSync, readFileSync } from 'node:fs';

/** The machine and the versions of a measurement. */
export interface Machine {
  cores: number;
  cpu: string;
  memoryGiB: number;
  system: string;
  node: string;
  sdk: string;
  server: string;
  codec: string;
  modelClient: string;
}

const GIB = 1024 ** 3;

/** Describes the machine, the versions and the set-up, which are stored with every figure. */
export async function describeMachine(client: Client): Promise<Machine> {
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { version: string };
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / GIB),
    system: `${platform()} ${release()}`,
    node: process.version,
    sdk: version,
    server: `dev server ${serverVersion}, in memory, transferProcessorMaxPollRPS=5000, eager activities`,
    codec: 'none',
    modelClient: 'openai package, streamed Chat Completions, both sides',
  };
}

/** The width of a time with three decimals that fits every uptime of a machine. */
const TIME_DIGITS = 16;

/**
 * Returns milliseconds, with fractions, by the monotonic clock of the machine. All processes on it share that clock: times that two of
 * them took can be subtracted. The epoch of a process (`performance.timeOrigin`) is read from the wall clock when the process starts,
 * and differs by milliseconds between two that started apart.
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns a time as text, always of the same length. */
export function timeText(time: number): string {
  return time.toFixed(3).padStart(TIME_DIGITS, '0');
}

/** Ticks of a processor in a second, as Linux reports them to programs. */
const TICKS = 100;

/**
 * Returns a clock of the processor time, in milliseconds, that the server at an address of this machine has used since it began. Undefined
 * where processes cannot be looked up as on Linux.
 */
export function serverCpuClock(address: string): (() => number) | undefined {
  const port = address.slice(address.lastIndexOf(':') + 1);
  const pid = processes().find((one) => hasPort(read(`/proc/${one}/cmdline`), port));
  return pid === undefined ? undefined : () => cpuMs(read(`/proc/${pid}/stat`));
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function hasPort(commandLine: string, port: string): boolean {
  const words = commandLine.split('\0');
  return words.includes('start-dev') && words.includes(`--port=${port}`);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Reads user and system time: the 12th and 13th field after the name, which may have spaces. */
function cpuMs(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS;
}
