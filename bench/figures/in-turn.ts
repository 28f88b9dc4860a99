/** The second side runs with the garbage and timers of the first: each round begins with another side. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = (round - 1) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
