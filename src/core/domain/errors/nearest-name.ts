/** A misspelt name is at most so many changes of one character away from the right one, and less than half of it. */
const MOST_CHANGES = 3;

/** ` Did you mean "timeout"?` where one of the names is close to what was written; otherwise nothing. */
export function didYouMean(written: unknown, names: readonly string[]): string {
  const name = typeof written === 'string' ? (nearestName(written, names) ?? withoutUnit(written, names)) : undefined;
  return name === undefined ? '' : `. Did you mean "${name}"?`;
}

/** Options that are a time have no unit in their name: `heartbeatMs` stands for what begins with `heartbeat`. */
function withoutUnit(written: string, names: readonly string[]): string | undefined {
  const [, stem] = /^(.{4,})(?:Ms|Millis|Seconds)$/.exec(written) ?? [];
  return stem === undefined ? undefined : names.find((name) => name.startsWith(stem));
}

/** The name that the fewest changes make of what was written, whatever the case; undefined where none is close. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const text = written.toLowerCase().slice(0, 100);
  const most = Math.min(MOST_CHANGES, Math.floor(text.length / 2));
  const distances = names.map((name) => ({ name, changes: changesBetween(text, name.toLowerCase()) }));
  return distances.filter(({ changes }) => changes <= most).toSorted((one, other) => one.changes - other.changes)[0]?.name;
}

/** How many characters have to be put in, left out, changed, or swapped with the next. */
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
