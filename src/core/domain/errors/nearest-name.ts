/** The most changes of one character between a misspelt name and the right one, which must also be at most half of its length. */
const MOST_CHANGES = 3;

/** Returns `. Did you mean "timeout"?` if one of the names is similar to the written one; otherwise an empty text. */
export function didYouMean(written: unknown, names: readonly string[]): string {
  const name = typeof written === 'string' ? (nearestName(written, names) ?? withoutUnit(written, names)) : undefined;
  return name === undefined ? '' : `. Did you mean "${name}"?`;
}

/**
 * Finds the option that a name with a unit stands for, because names of options have none: `heartbeatMs` stands for one that begins
 * with `heartbeat`.
 */
function withoutUnit(written: string, names: readonly string[]): string | undefined {
  const [, stem] = /^(.{4,})(?:Ms|Millis|Seconds)$/.exec(written) ?? [];
  return stem === undefined ? undefined : names.find((name) => name.startsWith(stem));
}

/** Returns the name that is the fewest changes away from the written one, ignoring case; undefined if none is close. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const text = written.toLowerCase().slice(0, 100);
  const most = Math.min(MOST_CHANGES, Math.floor(text.length / 2));
  const distances = names.map((name) => ({ name, changes: changesBetween(text, name.toLowerCase()) }));
  return distances.filter(({ changes }) => changes <= most).toSorted((one, other) => one.changes - other.changes)[0]?.name;
}

/** Counts the characters that must be inserted, removed, changed, or swapped with the next one. */
function changesBetween(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const ways = [at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (isSame ? 0 : 1)];
      row.push(Math.min(...ways, isSwapped ? at(before, j - 2) + 1 : Infinity));
    }
    before = last;
    last = row;
  }
  return at(last, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
