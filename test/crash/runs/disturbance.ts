import { kill, type CrashTestbed } from '../processes/crash-testbed.ts';
import { IDLE, KILLED } from '../points/points.ts';

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
