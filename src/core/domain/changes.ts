import type { ContextOperation } from './deps.ts';
import { isJsonObject, type JsonObject } from './json.ts';

// The changes that other calls made while a call was running.

/** The changes of deps and state in this execution. */
export interface ChangesSoFar {
  count: number;
  /** The path of each place that was changed, as JSON, and the number of its last change. */
  last: Map<string, number>;
}

/** The part of a run that calls change. */
interface ChangedRun {
  deps: JsonObject;
  changes?: ChangesSoFar;
}

/** What a call changes. */
interface Changes {
  state?: JsonObject;
  contextUpdate?: ContextOperation[];
}

/** A place in the deps or the state: `deps` or `state`, the key, and the keys below it. */
type Path = string[];

/** Returns the number of changes so far. A call that starts now has seen all of them. */
export function changesSoFar({ changes }: Pick<ChangedRun, 'changes'>): number {
  return changes?.count ?? 0;
}

/**
 * Returns the key of a change that would undo one which the call has not seen, because another call made it meanwhile. An element
 * that is appended to a list undoes nothing, and nor does an object that is merged beside other keys.
 */
export function undoneKey({ changes, deps }: ChangedRun, made: Changes, seen: number): string | undefined {
  if (changes === undefined || changes.count === seen) return undefined;
  const unseen = [...changes.last].flatMap(([path, number]) => (number > seen ? [JSON.parse(path) as Path] : []));
  const undone = placesOf(made).find(
    ({ path, op }) =>
      op !== 'append' &&
      !(op === 'delete' && !Object.hasOwn(deps, path[1] ?? '')) &&
      unseen.some((other) => other.every((key, index) => index >= path.length || key === path[index])),
  );
  return undone?.path[1];
}

export function noteChanges(state: ChangedRun, made: Changes): void {
  const places = placesOf(made);
  if (places.length === 0) return;
  const changes = (state.changes ??= { count: 0, last: new Map() });
  changes.count += 1;
  for (const { path } of places) changes.last.set(JSON.stringify(path), changes.count);
}

interface Place {
  op: ContextOperation['op'];
  path: Path;
}

function placesOf({ state = {}, contextUpdate = [] }: Changes): Place[] {
  return [
    ...Object.keys(state).map((key) => ({ op: 'set' as const, path: ['state', key] })),
    ...contextUpdate.flatMap((operation): Place[] => {
      const { op, key } = operation;
      return op === 'merge' ? leavesOf(['deps', key], operation.value).map((path) => ({ op, path })) : [{ op, path: ['deps', key] }];
    }),
  ];
}

/** Returns the places that a merge changes: the values that are no objects, and the empty objects. */
function leavesOf(path: Path, value: JsonObject): Path[] {
  const entries = Object.entries(value);
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => (isJsonObject(inner) ? leavesOf([...path, key], inner) : [[...path, key]]));
}
