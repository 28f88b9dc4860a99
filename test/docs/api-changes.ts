import { blocksOf } from './api-report.ts';

/** The lines of one changed export that are shown: the report has all. */
const MOST_LINES = 40;

/**
 * Returns what has changed between two reports of the API, for a reader: a line for each export that is new or gone, and the lines of each
 * other one that are (`+`), or are no longer (`-`), in its signature. Lines that have only moved are no change.
 */
export function apiChanges(before: string, now: string): string[] {
  const [old, current] = [blocksOf(before), blocksOf(now)];
  const headings = [...new Set([...old.keys(), ...current.keys()])].toSorted();
  return headings.flatMap((heading) => {
    const [was, is] = [old.get(heading), current.get(heading)];
    if (was === undefined) return [`+ ${heading}`];
    if (is === undefined) return [`- ${heading}`];
    const lines = [...without(was, is).map((line) => `    - ${line.trim()}`), ...without(is, was).map((line) => `    + ${line.trim()}`)];
    if (lines.length === 0) return [];
    const left = lines.length - MOST_LINES;
    return [`~ ${heading}`, ...lines.slice(0, MOST_LINES), ...(left > 0 ? [`    … and ${left} more lines`] : [])];
  });
}

/** Returns the lines that another list does not have, each as often as it has it too rarely. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
