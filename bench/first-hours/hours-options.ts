import { count, oneOf } from '../../test/processes/option-values.ts';

export const HOURS_PARTS = ['create', 'completion', 'doctor'] as const;

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

/** The usage of both commands. */
export const HOURS_USAGE = `  npm run bench -- first-hours [--part create|completion|doctor] [--rounds 11] [--json]
  npm run bench -- site [--rounds 3] [--json]`;

/** Reads the options of `first-hours`. Throws an error whose message describes the mistake. */
export function firstHoursOptions({
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
