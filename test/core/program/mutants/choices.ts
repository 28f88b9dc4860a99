/** Chooses a number below `below`. */
export type Choose = (below: number) => number;

/** Returns a source of choices that are the same for the same seed (mulberry32). */
export function choicesOf(seed: number): Choose {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Chooses one of some values. */
export function oneOf<Value>(choose: Choose, values: readonly [Value, ...Value[]]): Value {
  return values[choose(values.length)] ?? values[0];
}
