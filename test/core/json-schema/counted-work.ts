import { vi } from 'vitest';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { CheckMeter } from '../../../src/core/json-schema/compiled-schema.ts';

/** Counts the work of checking a value, so that a bound does not depend on the machine. */
export class CountedWork {
  /** Number of times that a member of a counted value was read. */
  reads = 0;
  #earlierUnits = 0;
  readonly #meters = new Set<CheckMeter>();

  constructor() {
    const begin = CheckMeter.prototype.begin;
    const count = (meter: CheckMeter): void => {
      if (this.#meters.has(meter)) this.#earlierUnits += meter.spent;
      this.#meters.add(meter);
    };
    vi.spyOn(CheckMeter.prototype, 'begin').mockImplementation(function (this: CheckMeter, allowed: number) {
      count(this);
      begin.call(this, allowed);
    });
  }

  /** Units of the validator, in all passes over all values. */
  get units(): number {
    return [...this.#meters].reduce((sum, { spent }) => sum + spent, this.#earlierUnits);
  }

  /** Wraps a value so that each read of a member is counted. */
  counted(value: JsonValue): JsonValue {
    if (typeof value !== 'object' || value === null) return value;
    const members = Array.isArray(value)
      ? value.map((one) => this.counted(one))
      : Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.counted(one)]));
    return new Proxy(members, {
      get: (target, key, receiver): JsonValue => {
        this.reads += 1;
        return Reflect.get(target, key, receiver) as JsonValue;
      },
    });
  }
}
