import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importCycles } from './import-cycles.ts';
import { closureViolations, danglingImports, emptyRooms, importViolations } from './import-rules.ts';
import { shapeViolations } from './shape-rules.ts';
import { ALL_FOLDERS, PRODUCT_FOLDERS, readTree } from './source-tree.ts';

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
    expect(emptyRooms(product)).toEqual([]);
  });

  test('loads through its entries nothing that belongs to the other side', () => {
    expect(closureViolations(tree)).toEqual([]);
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
