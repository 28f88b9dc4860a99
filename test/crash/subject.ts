import type { Pass } from './pass.ts';
import type { CrashTestbed } from './processes/crash-testbed.ts';
import type { Disturbance } from './runs/disturbance.ts';

/**
 * The runs that are hit: one of an agent, the same in bursts, one of a program that has steps of every kind, one of an agent that answers with code, one of a
 * tree of agents, a session of several turns, the same in bursts, and two sessions whose first model fails in every way.
 */
export const SUBJECTS = ['agent', 'burst', 'program', 'code', 'tree', 'session', 'burst-session', 'fallback'] as const;

export type SubjectName = (typeof SUBJECTS)[number];

/** The second session of `fallback` has a separate name. */
export type RunName = SubjectName | 'fallback-by-call';

/** The pass and the point where a run is hit. */
export interface Hit {
  pass: Pass;
  point: string;
}

/** The part that the records of all runs have. */
export interface RecordOfRun {
  runId: string;
}

/** A run that is repeated and hit, and the checks of its record. `Plain`: the part of a record that is equal in all runs. */
export interface Subject<Recorded extends RecordOfRun, Plain> {
  name: RunName;
  /** The number of history events after which a run continues as new: in its middle. */
  eventsOfExecution: number;
  /** Milliseconds between the heartbeats of workers that are killed. */
  heartbeatMs: number;
  /** Does the run. Throws if it does not end. */
  run: (testbed: CrashTestbed, runId: string, disturbance: Disturbance) => Promise<Recorded>;
  plain: (record: Recorded) => Plain;
  /** The problems with the undisturbed run, which reached these points. */
  undisturbedProblems: (record: Recorded, points: readonly string[]) => string[];
  /** The problems with a run that was hit at a point. */
  pointProblems: (undisturbed: Plain, hit: Hit, record: Recorded) => string[];
  /** The problems with a run that was hit at random. */
  randomProblems: (undisturbed: Plain, record: Recorded) => string[];
  /** True if the server needs many seconds to notice that a worker has died at the point: those points come first. */
  isSlow: (point: string) => boolean;
  /** The points that are hit in a pass, unless all are requested. */
  sample: (points: readonly string[], pass: Pass) => string[];
}
