import { diffLines } from 'diff';

/** Returns the difference of two texts by lines. */
export function lineDiff(before: string, after: string): { value: string; added?: boolean; removed?: boolean }[] {
  return diffLines(before, after);
}
