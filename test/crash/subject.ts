import { type Pass, type CrashTestbed, kill } from './processes/crash-testbed.ts';
import { IDLE, KILLED } from './points/points.ts';

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

/** The outcome of one run. */
export interface Outcome {
  subject: RunName;
  pass: Pass;
  /** The point where it was hit, or the name of a run that was hit at random. */
  name: string;
  problems: string[];
  seconds: number;
  /** The folder of its histories, if there are problems. */
  histories?: string;
}

/** The disturbance of a run. */
export type Disturbance =
  | { type: 'none' }
  /** The testbed's victim is killed when the run reaches the point. */
  | { type: 'at'; point: string }
  /** Work that continues until the run has ended. */
  | { type: 'meanwhile'; work: (ended: AbortSignal) => Promise<void> };

/** Prepares the kill of a run that is about to start. At `IDLE` the run itself kills. */
export async function armFor({ pass, worker, server }: CrashTestbed, runId: string, disturbance: Disturbance): Promise<void> {
  const isReached = disturbance.type === 'at' && disturbance.point !== IDLE;
  const victim = pass === 'worker' ? worker.pid : server.pid;
  await worker.whenReady();
  const armed = isReached ? { kill: { runId, point: disturbance.point, victim } } : {};
  // A worker that dies now is not armed: its successor runs on, and the run ends without a kill, which is a problem of it.
  await worker.ask({ type: 'arm', ...armed }, 'armed').catch(() => undefined);
}

/** Kills the victim of a run that waits, if that is its disturbance. */
export async function killIdle(testbed: CrashTestbed, runId: string, disturbance: Disturbance): Promise<void> {
  if (disturbance.type !== 'at' || disturbance.point !== IDLE) return;
  testbed.ledger.reached(runId, KILLED);
  await kill(testbed, testbed.pass);
}

/** Does the work of a disturbance until the run has ended. */
export async function disturbUntilEnded(disturbance: Disturbance, ending: Promise<unknown>): Promise<void> {
  if (disturbance.type !== 'meanwhile') return;
  const ended = new AbortController();
  void ending.catch(() => undefined).finally(() => ended.abort());
  await disturbance.work(ended.signal);
}

/** The number of times that worker or server were killed. */
export function killsOf({ worker, server }: CrashTestbed): number {
  return worker.kills + server.kills;
}
