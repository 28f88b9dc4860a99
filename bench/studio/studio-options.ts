import { count, oneOf } from '../../test/processes/command.ts';

export const STUDIO_PARTS = ['size', 'page', 'request', 'feed', 'load'] as const;

/** The options of `studio`. */
export interface StudioBenchOptions {
  command: 'studio';
  part: (typeof STUDIO_PARTS)[number];
  /** Steps of the run whose requests are read, or whose page is shown. */
  steps: number;
  /** The number of readers who follow all runs at once. */
  readers: number;
  /** Runs that wait meanwhile. */
  runs: number;
  quiet: boolean;
}

/** The usage of the command. */
export const STUDIO_USAGE =
  '  npm run bench -- studio [--part size|page|request|feed|load] [--steps 1000] [--readers 100] [--runs 1000] [--json]';

/** The flag that names a part of this command and of `first-hours`. */
export const STUDIO_FLAGS = { part: { type: 'string' } } as const;

interface StudioValues {
  part?: string | undefined;
  steps?: string | undefined;
  runs?: string | undefined;
  readers: string;
}

/** The default of `--readers` for another command: the flag is absent. */
const UNWRITTEN_READERS = '200';

/** The default number of steps of a run. There are many runs next to open pages, so they have fewer. */
const STEPS = { size: '1000', page: '1000', request: '1000', feed: '1000', load: '300' };

/** Reads the options of `studio`. Throws an error whose message describes the mistake. */
export function studioOptions({ part = 'request', steps, runs = '1000', readers }: StudioValues): Omit<StudioBenchOptions, 'quiet'> {
  const named = oneOf('part', part, STUDIO_PARTS);
  return {
    command: 'studio',
    part: named,
    steps: count('steps', steps ?? STEPS[named]),
    readers: count('readers', readers === UNWRITTEN_READERS ? '100' : readers),
    runs: count('runs', runs),
  };
}
