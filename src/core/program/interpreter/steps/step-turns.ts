// Programs: the length of workflow tasks, and of an execution.

import type { LimitReached } from '../../../domain/agent/limits.ts';
import type { ProgramPorts } from '../program-ports.ts';

/** The most steps that begin in one workflow task. The condition of each one may take some milliseconds. */
const STEPS_AT_ONCE = 200;

/** The most steps that begin in one execution, whose worker has the record of them all in its memory. */
const MAX_STEPS = 100_000;

/** The part of a run that is stopped or waits. */
interface StoppableRun {
  readonly ports: ProgramPorts;
  readonly stop: object | undefined;
  readonly isStopped: boolean;
  mayStart(call: 'other'): Promise<boolean>;
  stopBecause(stop: { type: 'limit'; reached: LimitReached }): void;
}

/**
 * Lets the workflow task end after many steps, and stops a run that begins too many of them. Steps that are skipped, reused or blocks
 * need no activity, so that neither a wait nor the size of the history bounds their number: a task that begins too many takes longer
 * than the server allows, and would be repeated for ever.
 */
export class StepTurns {
  #begun = 0;
  /** The time of the present workflow task, which does not change during it. */
  #taskAt = 0;
  #inTask = 0;
  #wait: Promise<boolean> | undefined;

  /** Counts a step. Returns undefined if it may begin at once; otherwise it may begin once the promise is true, and not at all if that is false. */
  next(run: StoppableRun): Promise<boolean> | undefined {
    this.#begun += 1;
    const now = run.ports.now();
    this.#inTask = now === this.#taskAt ? this.#inTask + 1 : 1;
    this.#taskAt = now;
    if (this.#inTask > STEPS_AT_ONCE) this.#wait ??= this.#waitFor(run);
    return this.#wait;
  }

  async #waitFor(run: StoppableRun): Promise<boolean> {
    const { ports } = run;
    const message = `${MAX_STEPS} steps have begun in one execution`;
    const mayStart = await run.mayStart('other');
    if (mayStart && this.#begun > MAX_STEPS)
      run.stopBecause({ type: 'limit', reached: { stopReason: 'step_limit', message, proposal: {} } });
    else if (mayStart) await ports.until(() => run.isStopped, { at: ports.now() + 1, summary: `pause after ${STEPS_AT_ONCE} steps` });
    this.#inTask = 0;
    this.#wait = undefined;
    return run.stop === undefined;
  }
}
