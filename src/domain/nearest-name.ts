/** The name that was probably meant, where one is near enough; undefined where none is. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  const near = known
    .map((one) => ({ one, distance: distance(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance: edits }) => edits <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.one;
}

/** How many letters have to be put in, left out, replaced or swapped with the next one to get from one name to the other. */
function distance(from: string, to: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const edits = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (isSame ? 0 : 1)];
      next[j] = Math.min(...edits, ...(isSwapped ? [(before[j - 2] ?? 0) + 1] : []));
    }
    [before, row] = [row, next];
  }
  return row[to.length] ?? 0;
}
