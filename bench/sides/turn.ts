import { median, rounded } from '../figures/statistics.ts';
import type { SideProcess } from './side-process.ts';
import { callsOf } from './side.ts';

/** The figures of one turn of a side. */
export interface TurnFigures {
  /** From the start of a run by the client to its result, divided by its calls: the median of the runs. */
  msPerCall: number;
  callsPerSecond: number;
  workerCpuMsPerCall: number;
  serverCpuMsPerCall: number;
}

const FIGURES: readonly (keyof TurnFigures)[] = ['msPerCall', 'callsPerSecond', 'workerCpuMsPerCall', 'serverCpuMsPerCall'];

/** The work of a turn: `runs` runs, `concurrency` at once. */
export interface Turn {
  steps: number;
  runs: number;
  concurrency: number;
}

/** Runs that are not measured: they load and compile code, and open connections. */
const WARM_UP_RUNS = 4;
const WARM_UP_STEPS = 50;

/** The turn of a side before the first round. */
export function warmUp({ steps }: Turn): Turn {
  return { steps: Math.min(steps, WARM_UP_STEPS), runs: WARM_UP_RUNS, concurrency: 1 };
}

/** Has a side take its turn. `newId` names its runs, and `serverCpuMs` reads the clock of its server. */
export async function takeTurn(
  side: SideProcess,
  { steps, runs, concurrency }: Turn,
  { newId, serverCpuMs }: { newId: () => string; serverCpuMs: () => number },
): Promise<TurnFigures> {
  const { ms: cpuBefore } = await side.ask({ type: 'cpu' }, 'cpu');
  const serverBefore = serverCpuMs();
  const begun = performance.now();
  const perCall: number[] = [];
  for (let done = 0; done < runs; done += concurrency) {
    const ids = Array.from({ length: Math.min(concurrency, runs - done) }, newId);
    await Promise.all(ids.map(async (runId) => perCall.push((await runOnSide(side, runId, steps)) / callsOf(steps))));
  }
  const ms = performance.now() - begun;
  const { ms: cpuAfter } = await side.ask({ type: 'cpu' }, 'cpu');
  const calls = runs * callsOf(steps);
  return {
    msPerCall: rounded(median(perCall), 2),
    callsPerSecond: rounded((calls / ms) * 1_000, 1),
    workerCpuMsPerCall: rounded((cpuAfter - cpuBefore) / calls, 2),
    serverCpuMsPerCall: rounded((serverCpuMs() - serverBefore) / calls, 2),
  };
}

/** Returns the milliseconds of a run. Throws if it has not come to its answer, or if a call was repeated. */
export async function runOnSide(side: SideProcess, runId: string, steps: number): Promise<number> {
  const { ms, error, retries } = await side.ask({ type: 'run', runId, steps }, 'ran', (reply) => reply.runId === runId);
  if (error !== undefined) throw new Error(`Run "${runId}" came to no answer: ${error}`);
  if (retries > 0) throw new Error(`${retries} calls of "${runId}", or of a run before, were repeated: their waits are in the figures`);
  return ms;
}

/** The figures of a turn in one line. */
export function turnLine(turn: TurnFigures): string {
  return FIGURES.map((name) => `${name} ${turn[name]}`).join(', ');
}

/** Each figure of a side, as the median of its rounds. */
export function medians(turns: readonly TurnFigures[]): object {
  return Object.fromEntries(FIGURES.map((name) => [name, median(turns.map((turn) => turn[name]))]));
}

/** The median of the rounds' ratios, with the least and the most of them. */
export function ratios(over: readonly TurnFigures[], under: readonly TurnFigures[]): object {
  return Object.fromEntries(
    FIGURES.map((name) => {
      const all = over.map((turn, round) => turn[name] / (under[round]?.[name] ?? NaN)).filter(Number.isFinite);
      if (all.length === 0) return [name, null];
      return [name, { ratio: rounded(median(all), 3), range: [rounded(Math.min(...all), 3), rounded(Math.max(...all), 3)] }];
    }),
  );
}
