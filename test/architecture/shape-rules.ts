import { posix } from 'node:path';
import type { SourceFile } from './source-file.ts';
import type { SourceTree } from './source-tree.ts';

/** Ordinary files have 100 to 500 lines. A longer one is rarely one thing that a reader looks for by name. */
const MAX_LINES = 650;

/** Words that name a layer instead of a concept: a file that needs one has no concept. */
const EMPTY_WORDS = new Set(['util', 'utils', 'helper', 'helpers', 'manager', 'service', 'services', 'misc', 'common']);

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.test-d|\.d)?\.tsx?$/;

/** Lists every file that is too long, badly named, or exports or casts in a forbidden way, as a sentence. */
export function shapeViolations(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) => [...sizeProblems(file), ...nameProblems(file), ...contentProblems(file)]);
}

function sizeProblems({ path, lines }: SourceFile): string[] {
  return lines > MAX_LINES ? [`${path} has ${lines} lines, more than ${MAX_LINES}: split it by concept`] : [];
}

function nameProblems({ path }: SourceFile): string[] {
  const name = posix.basename(path);
  // An example may be a service: there the word names the concept.
  const words = path.startsWith('examples/') ? [] : path.replace(/\.tsx?$/, '').split(/[/.-]/);
  const empty = words.find((word) => EMPTY_WORDS.has(word));
  return [
    ...(KEBAB_CASE.test(name) ? [] : [`${path} is not named in kebab-case`]),
    ...(empty === undefined ? [] : [`${path} is named by the layer word "${empty}": name it by its concept`]),
  ];
}

function contentProblems({ path, hasStarExport, doubleCasts }: SourceFile): string[] {
  return [
    ...(hasStarExport ? [`${path} has an "export *": list the names`] : []),
    // A test may need a double cast to pass a value that a caller should not pass.
    ...(path.startsWith('test/') ? [] : doubleCasts).map((cast) => `${path} casts twice: ${cast}`),
  ];
}
