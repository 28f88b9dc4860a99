import { posix } from 'node:path';
import type { SourceFile } from './source-file.ts';
import type { SourceTree } from './source-tree.ts';

const MAX_SOURCE_LINES = 300;
const MAX_TEST_LINES = 400;
const MAX_ENTRIES = 20;

/** Words that name a layer instead of a concept: a file that needs one has no concept of its own. */
const EMPTY_WORDS = new Set(['util', 'utils', 'helper', 'helpers', 'manager', 'service', 'services', 'misc', 'common']);

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.test-d|\.d)?\.ts$/;

/** Lists every file that is too long, badly named, or exports or casts in a forbidden way, as a sentence. */
export function shapeViolations(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) => [...sizeProblems(file), ...nameProblems(file), ...contentProblems(file)]);
}

/** This folder has an entry for each part of the product, and one for each kind of test: it is as long as their list. */
const MIRROR_OF_PRODUCT = 'test';

/** Lists every folder with too many files and folders, as a sentence. */
export function crowdedFolders(tree: SourceTree): string[] {
  const entries = new Map<string, Set<string>>();
  for (const path of tree.keys()) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth += 1) {
      const folder = parts.slice(0, depth).join('/');
      entries.set(folder, (entries.get(folder) ?? new Set()).add(parts[depth] ?? ''));
    }
  }
  return [...entries]
    .filter(([folder, names]) => names.size > MAX_ENTRIES && folder !== MIRROR_OF_PRODUCT)
    .map(([folder, names]) => `${folder} has ${names.size} entries, more than ${MAX_ENTRIES}: group them by concept`);
}

/** The median number of lines of a file. */
export function medianLines(tree: SourceTree): number {
  const lines = [...tree.values()].map((file) => file.lines).toSorted((one, other) => one - other);
  return lines[Math.floor(lines.length / 2)] ?? 0;
}

function sizeProblems({ path, lines }: SourceFile): string[] {
  const limit = path.startsWith('test/') ? MAX_TEST_LINES : MAX_SOURCE_LINES;
  return lines > limit ? [`${path} has ${lines} lines, more than ${limit}: split it by concept`] : [];
}

function nameProblems({ path }: SourceFile): string[] {
  const name = posix.basename(path);
  // An example may be a service: there the word names the concept.
  const words = path.startsWith('examples/') ? [] : path.replace(/\.ts$/, '').split(/[/.-]/);
  const empty = words.find((word) => EMPTY_WORDS.has(word));
  return [
    ...(KEBAB_CASE.test(name) ? [] : [`${path} is not named in kebab-case`]),
    ...(empty === undefined ? [] : [`${path} is named by the layer word "${empty}": name it by its concept`]),
  ];
}

function contentProblems({ path, hasDefaultExport, hasStarExport, doubleCasts }: SourceFile): string[] {
  return [
    ...(hasDefaultExport ? [`${path} has a default export: name it`] : []),
    ...(hasStarExport ? [`${path} has an "export *": list the names`] : []),
    // A test may need a double cast to pass a value that a caller should not pass.
    ...(path.startsWith('test/') ? [] : doubleCasts).map((cast) => `${path} casts twice: ${cast}`),
  ];
}
