import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { withCode } from './code-on-pages.ts';
import { studioTypes, TYPES_FILE } from './studio-types.ts';
import { PAGES, withTables } from './tables.ts';

// Writes the tables of the pages, the examples on them, and the types of Studio anew; with `--check`, only says which are out of date.
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const cwd = fileURLToPath(new URL('../..', import.meta.url));
for (const page of globSync(['README.md', 'docs/**/*.md'], { cwd }))
  write(page, (now) => withCode(PAGES.includes(page) ? withTables(now) : now));
write(TYPES_FILE, studioTypes);

function write(file: string, make: (now: string) => string): void {
  const path = `${cwd}/${file}`;
  const now = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const made = make(now);
  if (made === now) return;
  if (values.check) {
    console.error(`The tables, examples or types of "${file}" are out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, made);
    console.log(`${file} is written anew`);
  }
}
