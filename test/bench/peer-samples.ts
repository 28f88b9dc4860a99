import type { LatencyFigures } from '../../bench/latency.ts';
import type { Phase, PhaseName, PhaseSamples, Sample } from '../../bench/comparison/peer-phases.ts';
import type { SideName } from '../../bench/comparison/peer-sides.ts';

/** Latency figures that are all equal, except for those that are named. */
export function latencyOf(ms: number, figures: Partial<LatencyFigures> = {}): LatencyFigures {
  const same = { msPerCallMean: ms, msPerCallP50: ms, msPerCallP95: ms, msPerCallFirst20: ms, msPerCallLast20: ms };
  return { ...same, callsPerSecond: 1_000 / ms, msModelCallP50: ms, msToolCallP50: ms, msPerStepP50: 2 * ms, ...figures };
}

/** A sample of a run of two steps. */
export function sampleOf(ms: number, fields: Partial<Sample> = {}): Sample {
  return { ending: { type: 'completed' }, latency: latencyOf(ms), cpuMsPerCall: ms / 2, stepMs: [ms, ms], ...fields };
}

/** A history of this many bytes in two steps: the first is half as large as the second. */
export function historyOf(stepBytes: number): NonNullable<Sample['history']> {
  return { executions: 1, events: 25, bytes: 3 * stepBytes + 100, bytesBefore: 60, stepBytes: [stepBytes, 2 * stepBytes] };
}

/** The result of one set-up. */
export function phaseOf(name: PhaseName, samples: Partial<Record<SideName, Sample[]>>, fields: Partial<Phase> = {}): PhaseSamples {
  const sides = Object.keys(samples) as SideName[];
  const phase: Phase = {
    name,
    sides,
    steps: 2,
    resultChars: 50,
    atOnce: 1,
    rounds: 3,
    codec: 'none',
    timed: true,
    weighed: true,
    ...fields,
  };
  const machine = {
    cores: 2,
    cpu: 'CPU',
    memoryGiB: 8,
    system: 'linux',
    node: 'v24.0.0',
    sdk: '1.24.0',
    server: 'dev server',
    codec: 'none',
    modelClient: '',
  };
  return { phase, machine, samples, retries: {} };
}
