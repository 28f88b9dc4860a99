import { readFileSync } from 'node:fs';

/** Processes between the one that bubblewrap reports and the one that runs the code: the supervisor is the first, the code the second. */
const GENERATIONS = 2;

/**
 * Reads from the kernel the most memory that the interpreter of the code has taken, by what bubblewrap wrote about its process. The
 * interpreter itself could say anything. Undefined if the kernel does not tell.
 */
export function peakMemoryBytes(info: string): number | undefined {
  try {
    let { 'child-pid': pid } = JSON.parse(info) as { 'child-pid': number };
    for (let generation = 0; generation < GENERATIONS; generation += 1) {
      pid = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
    }
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}
