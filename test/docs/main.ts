import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { studioTypes, TYPES_FILE } from './studio-types.ts';
import { PAGES, withTables } from './tables.ts';

// Writes the tables of the pages and the types of Studio anew; with `--check`, only says which files are out of date.
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
for (const page of PAGES) write(page, withTables);
write(TYPES_FILE, studioTypes);

function write(file: string, make: (now: string) => string): void {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const now = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const made = make(now);
  if (made === now) return;
  if (values.check) {
    console.error(`"${file}" is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, made);
    console.log(`${file} is written anew`);
  }
}
