import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Returns the names of the members of a type by its source: of an interface, or of all variants of a union of objects. */
function membersOf(type: string, source: string): string[] {
  const start = source.search(new RegExp(`^(?:export )?(?:interface|type) ${type}\\b`, 'm'));
  if (start < 0) throw new Error(`There is no type ${type}`);
  const isInterface = source.slice(start).replace('export ', '').startsWith('interface');
  const end = source.indexOf(isInterface ? '\n}' : ';\n', start);
  const body = source.slice(start, end).replaceAll(/\/\*\*[^]*?\*\//g, '');
  const shapes = [
    ...source
      .slice(start, source.indexOf(';\n', start))
      .split('\nexport ')[0]!
      .matchAll(/\btypeof (\w+)/g),
  ];
  if (shapes.length > 0) return [...new Set(shapes.flatMap(([, name = '']) => membersOfShape(name, source)))];
  const names = isInterface ? body.matchAll(/^ {2}(\w+)\??:/gm) : body.matchAll(/[{;] (\w+)\??:/g);
  return [...new Set([...names].map(([, name = '']) => name))];
}

/** Returns the names of the members of a shape, or of the members of one, by the source of its constant. */
function membersOfShape(name: string, source: string): string[] {
  const start = source.indexOf(`const ${name} = `);
  const [line = ''] = source.slice(start).split('\n');
  const body = line.endsWith(';') ? line : source.slice(start, source.indexOf('\n}', start)).replaceAll(/\/\*\*[^]*?\*\//g, '');
  return [...body.matchAll(line.endsWith(';') ? /[{,] (\w+): (?:s\.|[A-Z])/g : /^ {2}(\w+):/gm)].map(([, member = '']) => member);
}

/** A table of the page, and the types whose members it is to describe. */
interface OptionTable {
  title: string;
  documented: string[];
  inCode: string[];
  rows: string[][];
}

function tablesOf(page: string): OptionTable[] {
  return [...page.matchAll(/<!-- options: ([^>]+) -->\n((?:\|.*\n)+)/g)].map(([, marker = '', table = '']) => {
    const inCode = [...marker.matchAll(/([\w, ]+?) in ([\w./-]+)/g)].flatMap(([, types = '', file = '']) =>
      types.split(',').flatMap((type) => (type.trim() === '' ? [] : membersOf(type.trim(), read(file)))),
    );
    const rows = table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      );
    const documented = rows.flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
    return { title: marker, documented, inCode, rows };
  });
}

const tables = tablesOf(read('docs/options.md'));

test('the page has a table for settings, limits, the window, workers, openai(), aiSdk(), prices and media; the table of agents is made from their options', () => {
  expect(tables).toHaveLength(8);
  expect(tables.flatMap(({ inCode }) => inCode).length).toBeGreaterThan(60);
});

describe.each(tables)('$title', ({ documented, inCode, rows }) => {
  test('has each option of the code once, and no other', () => {
    expect(documented.toSorted()).toEqual(inCode.toSorted());
  });

  test('says the type and the default of each', () => {
    expect(rows.filter(([, type, otherwise]) => !type || !otherwise)).toEqual([]);
  });
});

test('the table of capabilities has each capability of openai() once, and no other', () => {
  const page = read('docs/models.md');
  const [, table = ''] = /\| capability \|.*\n\|[ -|]+\n((?:\|.*\n)+)/.exec(page) ?? [];
  const documented = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
  const inCode = new Set([
    ...membersOf('ModelCapabilities', read('src/core/domain/model.ts')),
    ...membersOf('OpenAICapabilities', read('activities/models/openai/capabilities.ts')),
  ]);
  expect(documented.toSorted()).toEqual([...inCode].toSorted());
});

test('options that a table lacks, or that the code lacks, are found', () => {
  const page = '<!-- options: ModelPrice in src/core/domain/usage.ts -->\n| option |\n| --- |\n| `input`, `tax` |\n';
  const [table] = tablesOf(page);
  expect(table).toMatchObject({
    documented: ['input', 'tax'],
    inCode: ['input', 'output', 'cachedInput', 'cacheWrite', 'batch', 'hosted'],
  });
});
