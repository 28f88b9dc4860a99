import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENVIRONMENT, variablesInCode, variablesOfConnections } from './environment-variables.ts';
import { commandsIn, describedCommands, PAGES, withTables } from './tables.ts';

const read = (page: string): string => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');

test.each(PAGES)('the tables of %s match the declarations', (page) => {
  expect(read(page), 'run npm run docs').toBe(withTables(read(page)));
});

test('a table that is out of date is found: a missing option, another default, an option that is no longer there', () => {
  const page = read('docs/cli.md');
  for (const [from, to] of [
    [/\| `--with-steps` .*\n/, ''],
    ['Default: 20', 'Default: 21'],
    [/(?=\| `--with-steps`)/, '| `--without-steps` | nothing |\n'],
  ] as const) {
    const changed = page.replace(from, to);
    expect(changed).not.toBe(page);
    expect(withTables(changed)).not.toBe(changed);
    expect(withTables(changed)).toBe(page);
  }
});

test('every variable that the code or the connection to Temporal reads is in the table, and no other', () => {
  const described = Object.values(ENVIRONMENT).flatMap((variables) => Object.keys(variables));
  expect(described.toSorted()).toEqual([...new Set([...variablesInCode().keys(), ...variablesOfConnections()])].toSorted());
});

test('every command with options has a table, and no table is of another command', () => {
  expect(commandsIn(read('docs/cli.md'))).toEqual(expect.arrayContaining(describedCommands()));
  expect(() => withTables('<!-- table: longhaul fly -->\n<!-- end of table -->')).toThrow('There is no command "fly"');
  const wings = 'Wings in src/server/server-options.ts';
  expect(() => withTables(`<!-- table: ${wings} -->\n<!-- end of table -->`)).toThrow('There is no type "Wings"');
});
