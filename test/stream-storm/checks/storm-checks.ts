import { type Check, unless } from '../../processes/command.ts';
import { type Kind, KINDS } from '../processes/storm-testbed.ts';
import type { StreamedRun } from '../runs/streamed-run.ts';

/** The measurements of a storm. */
export interface StormFigures {
  runs: number;
  seed: number;
  kills: Record<Kind, number>;
  /** The number of times that readers were cut off or found no service, and came back. */
  reconnects: number;
  /** The number of readers that continued at the cursor of another one. */
  moves: number;
  events: number;
  deltas: number;
  gaps: number;
  resets: number;
  seconds: number;
}

/** The checks of a storm: one for each run, and checks that the storm did what it should. */
export function stormChecks(runs: readonly StreamedRun[], figures: StormFigures, failures: readonly string[]): Check[] {
  const { kills, reconnects, moves, deltas, resets } = figures;
  return [
    ...runs.map(({ runId, problems }) => ({ name: `the readers of run "${runId}" have got its record, each item once`, problems })),
    { name: 'no process ends by itself', problems: [...failures] },
    {
      name: 'workers, services and Redis are killed',
      problems: KINDS.flatMap((kind) => unless(kills[kind] > 0, `${kind} were not killed`)),
    },
    { name: 'readers are cut off and come back', problems: unless(reconnects > 0, 'no stream was cut') },
    { name: 'readers go on at the cursors of others', problems: unless(moves > 0, 'no reader moved on') },
    {
      name: 'readers see answers as they are written, and what is taken back',
      problems: [...unless(deltas > 0, 'there was no delta'), ...unless(resets > 0, 'there was no reset')],
    },
  ];
}
