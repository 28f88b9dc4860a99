import { isOfUser, type ToolSnapshot } from './agent.ts';
import type { ContextOperation } from './deps.ts';
import { isJsonObject, type JsonObject } from './json.ts';

// The changes that other calls made while a call was running.

/** The changes of deps and state in this execution. */
export interface ChangesSoFar {
  count: number;
  /** The JSON path of each changed place, and the number of its last change. */
  last: Map<string, number>;
}

/** The part of a run that calls can change. */
interface ChangedRun {
  deps: JsonObject;
  changes?: ChangesSoFar;
}

interface Changes {
  state?: JsonObject;
  contextUpdate?: ContextOperation[];
}

/** A place in the deps or the state: `deps` or `state`, the key, and its subkeys. */
type Path = string[];

/** Returns the number of changes so far. A call that starts now has seen all of them. */
export function changesSoFar({ changes }: Pick<ChangedRun, 'changes'>): number {
  return changes?.count ?? 0;
}

/**
 * Returns the key of a change that would undo a change of another call that this call has not seen. Appending an element to a list undoes
 * nothing; neither does merging an object next to other keys.
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

/** Returns the places that a merge changes: values that are not objects, and empty objects. */
function leavesOf(path: Path, value: JsonObject): Path[] {
  const entries = Object.entries(value);
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => (isJsonObject(inner) ? leavesOf([...path, key], inner) : [[...path, key]]));
}

// The changes that tools declare for their calls.

/**
 * True if a call must not start before another call of the response has ended: it would not see the other call's changes, or its own change
 * could come before an earlier call's. Calls whose tools declare different keys may overlap, and so may calls of tools that declare
 * nothing: their changes are checked when they end.
 */
export function mustFollow(tool: ToolSnapshot, other: ToolSnapshot): boolean {
  const [own, others] = [updatesOf(tool), updatesOf(other)];
  if (others === undefined) return isDeclared(own);
  if (!isDeclared(others)) return false;
  return !isDeclared(own) || own === true || others === true || own.some((key) => others.includes(key));
}

/** True if the tool declares that its calls change deps or state. */
export function declaresUpdates(tool: ToolSnapshot): boolean {
  return isDeclared(updatesOf(tool));
}

/** True if a call of the tool may change deps or state. */
export function mayUpdate(tool: ToolSnapshot): boolean {
  return updatesOf(tool) !== false;
}

function isDeclared(updates: ToolSnapshot['updates']): updates is true | string[] {
  return updates !== undefined && updates !== false;
}

/** Returns a tool's declared updates. Calls that no user function runs change nothing. */
function updatesOf(tool: ToolSnapshot): ToolSnapshot['updates'] {
  return isOfUser(tool) ? tool.updates : false;
}
