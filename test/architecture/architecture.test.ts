import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importCycles } from './import-cycles.ts';
import { closureViolations, danglingImports, emptyRooms, importViolations } from './import-rules.ts';
import { shapeViolations } from './shape-rules.ts';
import { ALL_FOLDERS, loadedBy, PRODUCT_FOLDERS, readTree } from './source-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tree = readTree(root, ALL_FOLDERS);
const product = readTree(root, PRODUCT_FOLDERS);

describe('the project', () => {
  test('is read completely', () => {
    expect(product.size).toBeGreaterThan(50);
    expect(tree.has('workflows/runs.ts')).toBe(true);
    expect(tree.has('test/architecture/architecture.test.ts')).toBe(true);
  });

  test('imports in the directions that its zones allow', () => {
    expect(importViolations(tree)).toEqual([]);
  });

  test('has the rooms that the rules name', () => {
    expect(emptyRooms(tree)).toEqual([]);
  });

  test('loads through its entries nothing that belongs to the other side', () => {
    expect(closureViolations(tree)).toEqual([]);
  });

  test('loads little for a service that starts and reads runs', () => {
    const loaded = [...loadedBy(product, 'src/client/index.ts').keys()].filter((path) => product.has(path));
    expect(loaded).toContain('src/client/run-handle.ts');
    expect(loaded.length).toBeLessThanOrEqual(120);
    // They are most of the package, and belong in an import() in the method that uses them.
    expect(loaded.filter((path) => /^src\/(history|core\/kernel|core\/capabilities)\b/.test(path))).toEqual([]);
  });

  test('loads little for a command line that is completed: a person waits at the prompt', () => {
    for (const entry of ['src/cli/run-cli.ts', 'src/cli/completion/completion.ts']) {
      const loaded = [...loadedBy(product, entry).keys()];
      expect(loaded).toContain('src/cli/shell-commands.ts');
      expect(loaded.length).toBeLessThanOrEqual(60);
      // Temporal's client alone takes longer to load than everything else.
      expect(loaded.filter((path) => path.startsWith('@temporalio/'))).toEqual([]);
    }
  });

  test('imports files that exist, with their extension', () => {
    expect(danglingImports(tree)).toEqual([]);
  });

  test('has no import cycles', () => {
    expect(importCycles(tree).map((cycle) => cycle.join(' > '))).toEqual([]);
  });

  test('has files of one concept: their size, their name, their exports', () => {
    expect(shapeViolations(tree)).toEqual([]);
  });
});
