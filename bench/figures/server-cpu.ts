import { readdirSync, readFileSync } from 'node:fs';

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
