import type { z } from 'zod';
import { MOST_PROBLEMS } from '../schemas/bounded.ts';
import type { RequestProblem } from './request-error.ts';

type Issue = z.core.$ZodIssue;

/** The most characters of one part of a pointer: names of members are the caller's. */
const LONGEST_TOKEN = 100;

/** Returns the parts of a body that its schema refuses, by their JSON pointers. */
export function bodyProblems(issues: readonly Issue[]): RequestProblem[] {
  return flattened(issues)
    .slice(0, MOST_PROBLEMS)
    .map(({ path, detail }) => ({ pointer: pointerTo(path), detail }));
}

/** Returns the parameters that a schema refuses, by their names. */
export function parameterProblems(issues: readonly Issue[]): RequestProblem[] {
  return flattened(issues)
    .slice(0, MOST_PROBLEMS)
    .map(({ path, detail }) => ({ parameter: String(path[0] ?? ''), detail }));
}

/** Returns a path as a JSON pointer in a URI fragment. */
export function pointerTo(path: readonly PropertyKey[]): string {
  const tokens = path.map((part) => `/${encodeURIComponent(shortened(String(part)).replaceAll('~', '~0').replaceAll('/', '~1'))}`);
  return `#${tokens.join('')}`;
}

/** A name without its end if it is long, of whole characters: half of a pair has no form in a URI. */
function shortened(name: string): string {
  return (name.length > LONGEST_TOKEN ? `${name.slice(0, LONGEST_TOKEN)}…` : name).toWellFormed();
}

interface Flat {
  path: PropertyKey[];
  detail: string;
}

/** Names each unknown member by itself, and the closest form of a value that may have several. */
function flattened(issues: readonly Issue[], above: readonly PropertyKey[] = []): Flat[] {
  return issues.flatMap((issue): Flat[] => {
    const path = [...above, ...issue.path];
    if (issue.code === 'unrecognized_keys')
      return issue.keys.slice(0, MOST_PROBLEMS).map((key) => ({ path: [...path, key], detail: 'unknown member' }));
    const branches = issue.code === 'invalid_union' ? issue.errors.map((branch) => flattened(branch, path)) : [];
    // A value of the right form with a mistake in it has its problems below; a value of another form has one at its own place.
    const [closest] = branches
      .filter((branch) => branch.some((one) => one.path.length > path.length))
      .toSorted((a, b) => a.length - b.length);
    return closest ?? [{ path, detail: issue.message }];
  });
}
