import { isJsonObject } from './json.ts';

/** True where a value is nested deeper than so many levels. Does not recurse, so that no value overflows the stack here. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((one): unknown[] => (Array.isArray(one) ? one : isJsonObject(one) ? Object.values(one) : []));
  }
  return false;
}
