import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { longestChain } from './import-depth.ts';
import { parseTree, readTree } from './source-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const LOOP = 'src/core/kernel/';
const tree = readTree(root, [LOOP.slice(0, -1)]);

describe('the loop of a run', () => {
  test('can be read from the top in at most seven levels of imports', () => {
    const tooDeep = longestChain(tree, LOOP, `${LOOP}run-loop.ts`).slice(7);
    expect(tooDeep).toEqual([]);
  });
});

test('the longest chain of imports leaves out types, and files of other folders', () => {
  const chained = parseTree({
    'loop/a.ts':
      "import { b } from './b.ts'; import { d } from './d.ts'; import type { E } from './e.ts'; import { o } from '../other/o.ts';",
    'loop/b.ts': "import { c } from './c.ts';",
    'loop/c.ts': "import { d } from './d.ts';",
    'loop/d.ts': "import type { E } from './e.ts';",
    'loop/e.ts': "import { b } from './f.ts';",
    'other/o.ts': "import { b } from '../loop/b.ts';",
  });
  expect(longestChain(chained, 'loop/', 'loop/a.ts')).toEqual(['loop/a.ts', 'loop/b.ts', 'loop/c.ts', 'loop/d.ts']);
});
