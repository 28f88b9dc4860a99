import type { MissingRange } from './export-line.ts';

/** Numbers that must come one after the other: lets each pass once, and notes those that are missing. */
export class Numbering {
  readonly missing: MissingRange[] = [];
  /** How many have passed. */
  passed = 0;
  #next = 0;

  /** True where the number is new. */
  pass(number: number): boolean {
    if (number < this.#next) return false;
    this.reach(number);
    this.#next = number + 1;
    this.passed += 1;
    return true;
  }

  /** Everything below `number` must have passed. */
  reach(number: number): void {
    if (number <= this.#next) return;
    this.missing.push({ from: this.#next, through: number });
    this.#next = number;
  }
}
