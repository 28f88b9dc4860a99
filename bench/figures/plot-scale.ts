/** The mapping of values to positions on an axis, and the values that are written next to it. */
export interface Scale {
  /** From 0 (the low end) to 1. */
  place: (value: number) => number;
  ticks: number[];
}

/** The mantissas of round numbers. */
const ROUND = [1, 2, 5, 10];

/** From 0 to a round number not below `max`, with about this many ticks. `max` is above 0. */
export function linearScale(max: number, ticks: number): Scale {
  const rough = max / ticks;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (ROUND.find((mantissa) => mantissa * power >= rough) ?? 10) * power;
  const count = Math.ceil(max / step - Number.EPSILON);
  return {
    place: (value) => value / (count * step),
    ticks: Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12))),
  };
}

/** Powers of ten from the one not above `min` to the one not below `max`; both are above 0. */
export function logScale(min: number, max: number): Scale {
  const low = Math.floor(Math.log10(min));
  const high = Math.max(low + 1, Math.ceil(Math.log10(max)));
  return {
    place: (value) => (Math.log10(value) - low) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
  };
}
