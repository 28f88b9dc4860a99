import type { Telemetry } from '../../src/telemetry/telemetry.ts';
import { isGivenUp } from '../telemetry/call-spans.ts';
import type { Acknowledgement } from './checkpoints.ts';

/**
 * What the attempts at a call report of themselves, which a burst makes or a batch answers. Others make the call again, under the same names, if the
 * server does not get its outcome: nothing is reported before.
 */
export class HeldReports {
  readonly #held: (() => void)[] = [];
  /** What becomes of a report, once it is known. */
  #fate: ((report: () => void) => void) | undefined;

  /** Reports something, once it may be. */
  add(report: () => void): void {
    if (this.#fate === undefined) this.#held.push(report);
    else this.#fate(report);
  }

  /** The server has the outcome. */
  release(): void {
    this.#decide((report) => report());
  }

  /** The server does not get the outcome. `drop` is called for each report. */
  giveUp(drop: () => void): void {
    this.#decide(drop);
  }

  #decide(fate: (report: () => void) => void): void {
    this.#fate = fate;
    for (const report of this.#held.splice(0)) fate(report);
  }
}

/** What the calls of an attempt at a burst report of themselves whose ends the server may not have. */
export class BurstReports {
  readonly #telemetry: Telemetry | undefined;
  /** Those of calls whose outcomes the next checkpoint stores. */
  readonly #held: HeldReports[] = [];
  /** Those of calls that are left to the run, which only learns of them from the end of the attempt. */
  readonly #toEnd: HeldReports[] = [];
  /** What becomes of those that are still held once the attempt has ended. */
  #settle: (() => void) | undefined;

  constructor(telemetry: Telemetry | undefined) {
    this.#telemetry = telemetry;
  }

  /** Holds what a call reports of itself until the server has its end. */
  hold(reports: HeldReports, { isLeft }: { isLeft: boolean }): void {
    (isLeft ? this.#toEnd : this.#held).push(reports);
    this.#settle?.();
  }

  /** Takes those of the calls whose outcomes are about to be stored. */
  storing(): Acknowledgement {
    const held = this.#held.splice(0);
    return {
      stored: () => {
        for (const reports of held) reports.release();
      },
      failed: () => {
        this.#held.push(...held);
        this.#settle?.();
      },
    };
  }

  /** The server is about to have all of them, with what the attempt returns. */
  returned(): void {
    this.#settle = () => this.#reportLater();
    this.#settle();
  }

  /** The outcomes were not stored. Those of the last attempt are for the run, from its failure; the calls of another one are made again. */
  notStored({ isLast }: { isLast: boolean }): void {
    if (isLast) this.#reportLater();
    this.#settle = () => this.#giveUp();
    this.#settle();
  }

  #reportLater(): void {
    if (isGivenUp()) {
      this.#giveUp();
      return;
    }
    const all = this.#all();
    this.#telemetry?.later(() => {
      for (const reports of all) reports.release();
    });
  }

  /** Counts the spans as lost. */
  #giveUp(): void {
    for (const reports of this.#all()) reports.giveUp(() => this.#telemetry?.drop());
  }

  #all(): HeldReports[] {
    return [...this.#held.splice(0), ...this.#toEnd.splice(0)];
  }
}
