/** Whoever goes second finds the other's garbage and timers: each round begins with another side. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = (round - 1) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
