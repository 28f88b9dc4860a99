import { expect, test } from 'vitest';
import { runIdsBelow, type TreePlace } from '../../../src/client/delete-run.ts';

const places = (entries: Record<string, TreePlace>): Map<string, TreePlace> => new Map(Object.entries(entries));

test('the runs below a run are those to which its parents lead, the deepest first', () => {
  const tree = places({
    'r/a.1': { parent: 'r', root: 'r' },
    'r/a.1/b.2': { parent: 'r/a.1', root: 'r' },
    'r/started-by-a-client': { root: 'r/started-by-a-client' },
    'r/of-another/c': { parent: 'elsewhere', root: 'elsewhere' },
  });
  expect(runIdsBelow('r', tree, 'r')).toEqual(['r/a.1/b.2', 'r/a.1']);
});

test('a run below one that the server has removed is found by the tree that it is in', () => {
  const tree = places({ 'r/a.1/b.2': { parent: 'r/a.1', root: 'r' }, 'r/a.1/b.2/c.3': { parent: 'r/a.1/b.2', root: 'r' } });
  expect(runIdsBelow('r', tree, 'r')).toEqual(['r/a.1/b.2/c.3', 'r/a.1/b.2']);
  expect(runIdsBelow('r', tree)).toEqual(['r/a.1/b.2/c.3', 'r/a.1/b.2']);
  const inside = places({ 'r/a.1/b.2/c.3': { parent: 'r/a.1/b.2', root: 'r' } });
  expect(runIdsBelow('r/a.1', inside, 'r')).toEqual(['r/a.1/b.2/c.3']);
});

test('a run of another tree, and one that another workflow of the tree has started, are not below', () => {
  const tree = places({
    'r/x/y': { parent: 'r/x', root: 'other' },
    'r/z': { parent: 'host', root: 'host' },
    'r/old': { parent: 'r/x' },
  });
  expect(runIdsBelow('r', tree, 'host')).toEqual([]);
});
