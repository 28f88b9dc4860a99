import type { MissingRange } from './export-line.ts';

/** Counts numbers that must come in order: accepts each once, and collects the missing ones. */
export class Numbering {
  readonly missing: MissingRange[] = [];
  /** The number of accepted numbers. */
  passed = 0;
  #next = 0;

  /** Accepts a number. True if it is new. */
  pass(number: number): boolean {
    if (number < this.#next) return false;
    this.reach(number);
    this.#next = number + 1;
    this.passed += 1;
    return true;
  }

  /** Marks all numbers below `number` that were not accepted as missing. */
  reach(number: number): void {
    if (number <= this.#next) return;
    this.missing.push({ from: this.#next, through: number });
    this.#next = number;
  }
}
