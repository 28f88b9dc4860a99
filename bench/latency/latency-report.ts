import type { LatencyFigures } from './latency.ts';
import type { LatencyOptions } from '../options.ts';
import type { Side } from '../sides/side.ts';
import { rounded } from '../figures/statistics.ts';

/**
 * The figures of `latency` in the form of the report: Longhaul's, the loop's, and the comparison for a local tool. Throws a
 * RangeError without the first two.
 */
export function latencyReport(
  { tier, steps, runs, concurrency }: LatencyOptions,
  measured: ReadonlyMap<Side['name'], LatencyFigures>,
): object {
  const [longhaul, loop] = [measured.get('longhaul'), measured.get('loop')];
  if (longhaul === undefined || loop === undefined) throw new RangeError('Longhaul or the loop was not measured');
  const { msModelCallP50, msToolCallP50, ...figures } = longhaul;
  return { tier, steps, runs, concurrency, ...figures, loop, msModelCallP50, msToolCallP50, ...localFigures(longhaul, measured) };
}

function localFigures(longhaul: LatencyFigures, measured: ReadonlyMap<Side['name'], LatencyFigures>): object {
  const [remote, sequence, empty] = [measured.get('remote'), measured.get('sequence'), measured.get('empty')];
  if (remote === undefined || sequence === undefined || empty === undefined) return {};
  return {
    remote,
    localStepRatio: rounded(longhaul.msPerStepP50 / remote.msPerStepP50, 2),
    localCall: compared(sequence.msToNextCallP50, empty.msToNextCallP50),
    toNextCommand: compared(sequence.msToNextCommandP50, empty.msToNextCommandP50),
    toModelCommand: compared(longhaul.msToNextCommandP50, empty.msToNextCommandP50),
  };
}

/** A figure of a local tool next to the figure of an empty local activity. */
function compared(ms = NaN, emptyMs = NaN): object {
  return { ms, emptyMs, ratio: rounded(ms / emptyMs, 2) };
}
