import { type SourceTree, targetOf } from './source-tree.ts';

/** Every import cycle, types included, as the list of its files; the first file is repeated at the end. */
export function importCycles(tree: SourceTree): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  function follow(current: string): void {
    const at = path.indexOf(current);
    if (at >= 0) {
      cycles.push([...path.slice(at), current]);
      return;
    }
    const file = tree.get(current);
    if (file === undefined || done.has(current)) return;
    path.push(current);
    for (const one of file.imports) follow(targetOf(file, one));
    path.pop();
    done.add(current);
  }
  for (const start of tree.keys()) follow(start);
  return cycles;
}
