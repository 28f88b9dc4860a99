import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PAGES, withTables } from './tables.ts';

// Writes the tables of the pages anew; with `--check`, only says which pages are out of date.
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
for (const page of PAGES) {
  const path = fileURLToPath(new URL(`../../${page}`, import.meta.url));
  const now = readFileSync(path, 'utf8');
  const made = withTables(now);
  if (made === now) continue;
  if (values.check) {
    console.error(`The tables of "${page}" are out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, made);
    console.log(`${page} is written anew`);
  }
}
