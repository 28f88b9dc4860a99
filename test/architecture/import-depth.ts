import { type SourceTree, targetOf } from './source-tree.ts';

/**
 * The longest chain of imports from a file within a folder, as the list of its files. Types are left out: they say what a
 * function takes, not what it does. The tree must have no import cycles.
 */
export function longestChain(tree: SourceTree, folder: string, entry: string): string[] {
  const known = new Map<string, string[]>();
  function chainFrom(path: string): string[] {
    const done = known.get(path);
    if (done !== undefined) return done;
    const file = tree.get(path);
    const targets = file?.imports.flatMap((one) => (one.typeOnly ? [] : [targetOf(file, one)])) ?? [];
    const chains = targets.filter((target) => target.startsWith(folder) && tree.has(target)).map((target) => chainFrom(target));
    const longest = chains.reduce((one, other) => (other.length > one.length ? other : one), []);
    const chain = [path, ...longest];
    known.set(path, chain);
    return chain;
  }
  return chainFrom(entry);
}
