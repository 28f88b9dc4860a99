import { count } from '../../test/processes/command.ts';

/** The options of `governor`. */
export interface GovernorBenchOptions {
  command: 'governor';
  runs: number;
  /** Worker processes. */
  workers: number;
  /** Requests a minute that the provider takes. */
  rpm: number;
  /** The limit of the workers, as a multiple of the provider's. */
  claim: number;
  /** The provider names its limit in headers. */
  headers: boolean;
  seconds: number;
  quiet: boolean;
}

/** The usage of the command. */
export const GOVERNOR_USAGE =
  '  npm run bench -- governor [--runs 100] [--workers 4] [--rpm 1200] [--claim 1] [--headers] [--seconds 40] [--json]';

/** The flags of the command that no other one has. */
export const GOVERNOR_FLAGS = {
  workers: { type: 'string', default: '4' },
  rpm: { type: 'string', default: '1200' },
  claim: { type: 'string', default: '1' },
  headers: { type: 'boolean', default: false },
} as const;

interface GovernorValues {
  runs?: string | undefined;
  workers: string;
  rpm: string;
  claim: string;
  headers: boolean;
  seconds?: string | undefined;
}

/** Reads the options of `governor`. Throws an error whose message describes the mistake. */
export function governorOptions({
  runs = '100',
  workers,
  rpm,
  claim,
  headers,
  seconds = '40',
}: GovernorValues): Omit<GovernorBenchOptions, 'quiet'> {
  const times = Number(claim);
  if (!(times >= 1 && times <= 10)) throw new Error(`--claim is "${claim}": write a number from 1 to 10`);
  return {
    command: 'governor',
    // Ten tenants: one has the most.
    runs: count('runs', runs, 60),
    workers: count('workers', workers),
    rpm: count('rpm', rpm, 60),
    claim: times,
    headers,
    seconds: count('seconds', seconds),
  };
}
