import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { withCode } from './code-on-pages.ts';
import { PAGES, withTables } from './tables.ts';

// Writes the tables of the pages, and the examples on them, anew; with `--check`, only says which pages are out of date.
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const cwd = fileURLToPath(new URL('../..', import.meta.url));
for (const page of globSync(['README.md', 'docs/**/*.md'], { cwd })) {
  const path = `${cwd}/${page}`;
  const now = readFileSync(path, 'utf8');
  const made = withCode(PAGES.includes(page) ? withTables(now) : now);
  if (made === now) continue;
  if (values.check) {
    console.error(`The tables or examples of "${page}" are out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, made);
    console.log(`${page} is written anew`);
  }
}
