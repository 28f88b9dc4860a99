import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { apiReport, RELEASED, REPORT } from './api-report.ts';
import { withCode } from './code-on-pages.ts';
import { studioTypes, TYPES_FILE } from './studio-types.ts';
import { PAGES, withTables } from './tables.ts';

// Rewrites the tables of the pages, the examples on them, the types of Studio and the report of the API. With `--check`, only says which
// files are out of date. `--release` keeps the report as the report of a release, which later ones are compared with.
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false }, release: { type: 'boolean', default: false } } });
const cwd = fileURLToPath(new URL('../..', import.meta.url));
for (const page of globSync(['README.md', 'docs/**/*.md'], { cwd })) {
  const now = read(page);
  write(page, withCode(PAGES.includes(page) ? withTables(now) : now));
}
write(TYPES_FILE, studioTypes());
const report = apiReport();
write(REPORT, report);
if (values.release) write(RELEASED, report);

function write(path: string, made: string): void {
  if (read(path) === made) return;
  if (values.check) {
    console.error(`"${path}" is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    mkdirSync(`${cwd}/api`, { recursive: true });
    writeFileSync(`${cwd}/${path}`, made);
    console.log(`${path} is written anew`);
  }
}

function read(path: string): string {
  return existsSync(`${cwd}/${path}`) ? readFileSync(`${cwd}/${path}`, 'utf8') : '';
}
