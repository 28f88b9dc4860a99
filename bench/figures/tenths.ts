import type { WorkerSample } from '../endless/endless-messages.ts';
import { rounded } from './statistics.ts';

const PARTS = 10;

/** Returns the measurements of each tenth of `steps` steps. */
export function tenths<Seen extends { step: number }>(seen: readonly Seen[], steps: number): Seen[][] {
  const parts = Array.from({ length: PARTS }, (): Seen[] => []);
  for (const one of seen) parts[Math.floor((one.step * PARTS) / steps)]?.push(one);
  return parts;
}

/** Returns the first and the last of some values. */
export function ends(values: readonly number[]): [first: number, last: number] {
  return [values[0] ?? Number.NaN, values.at(-1) ?? Number.NaN];
}

/** Returns the CPU time of a process for each step, between the first of its readings and the last. */
export function cpuMsPerStep(samples: readonly WorkerSample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last) return Number.NaN;
  return rounded((last.cpuMs - first.cpuMs) / (last.step - first.step), 2);
}
