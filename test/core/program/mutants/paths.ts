/** Reads the path of a problem: `units[0].steps[1].ask["a b"]`. Undefined for a text that is not a path. */
export function readPath(path: string): (string | number)[] | undefined {
  const segment = /(?:^|\.)([\w$]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy;
  const keys: (string | number)[] = [];
  for (let index = 0; index < path.length; index = segment.lastIndex) {
    segment.lastIndex = index;
    const [, name, position, quoted] = segment.exec(path) ?? [];
    if (name !== undefined) keys.push(name);
    else if (position !== undefined) keys.push(Number(position));
    else if (quoted !== undefined) keys.push(String(JSON.parse(quoted)));
    else return undefined;
  }
  return keys;
}

/** True if a path leads to a value of a document, or its last key is missing in one. */
export function leadsIntoDocument(document: unknown, path: string): boolean {
  const keys = readPath(path);
  if (keys === undefined) return false;
  let value: unknown = document;
  for (const [at, key] of keys.entries()) {
    if (typeof value !== 'object' || value === null) return false;
    if (!Object.hasOwn(value, key)) return at === keys.length - 1;
    value = (value as Record<string | number, unknown>)[key];
  }
  return true;
}
