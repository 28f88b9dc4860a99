import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { fencesIn } from './fences.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const PAGES = globSync('docs/migrate/*.md', { cwd: root })
  .filter((page) => !page.endsWith('README.md'))
  .toSorted();

/** Returns the text of a part of a page: from its heading to the next one of the same kind. */
function part(page: string, heading: string): string {
  const [, text = ''] = new RegExp(`^## ${heading}\n([^]*?)(?=^## |(?![^]))`, 'm').exec(read(page)) ?? [];
  return text;
}

test('there is a page for each framework that people come from', () => {
  expect(PAGES.map((page) => page.replace('docs/migrate/', ''))).toEqual([
    'ai-sdk.md',
    'langgraph.md',
    'openai-agents.md',
    'temporal-ai-sdk.md',
    'temporal-openai-agents.md',
  ]);
});

test.each(PAGES)('%s has each part: words, one program in both, what has no counterpart, and when not to migrate', (page) => {
  const words = part(page, 'Words').match(/^\| .+ \| .+ \|$/gm) ?? [];
  expect(words.length).toBeGreaterThan(10);
  // The program of the other framework, and where the one of Longhaul is.
  const program = part(page, 'One program, twice');
  const files = [...program.matchAll(/^<!-- (examples\/migrate\/\S+) -->$/gm)].map(([, file = '']) => file);
  expect(files.filter((file) => file !== 'examples/migrate/longhaul.ts')).not.toEqual([]);
  expect(files).toContain('examples/migrate/longhaul.ts');
  expect(fencesIn(page, program).length).toBeGreaterThanOrEqual(files.length);
  // In both directions.
  const without = part(page, 'Without a counterpart');
  for (const direction of [
    /^Longhaul does not have:\n\n(?:- .+\n){2}/m,
    /^(?:With .+ you build yourself|The plugin does not have):\n\n(?:- .+\n){2}/m,
  ])
    expect(without).toMatch(direction);
  expect(part(page, 'When to stay').trim().length).toBeGreaterThan(200);
});

test.each(PAGES)('%s names the versions that it is about, with the day of the release, as installed for its program', (page) => {
  const [, about = ''] = /^(This page is about .+)$/m.exec(read(page)) ?? [];
  const named = [...about.matchAll(/`([^`]+)` (\d+\.\d+\.\d+)/g)].map(([, name = '', version = '']) => ({ name, version }));
  expect(named.length).toBeGreaterThan(0);
  expect(about).toMatch(/\bof \d{4}-\d{2}-\d{2}\b/);
  const installed = ['peers', 'temporal'].map(
    (folder) => (JSON.parse(read(`examples/migrate/${folder}/package.json`)) as { dependencies: Record<string, string> }).dependencies,
  );
  const wrong = named.filter(({ name, version }) => {
    const versions = installed.flatMap((one) => one[name] ?? []);
    return versions.length === 0 || !versions.includes(version);
  });
  expect(wrong).toEqual([]);
});

test('figures about others come from the page of measurements', () => {
  const figures = PAGES.flatMap((page) => {
    const prose = read(page).replaceAll(/^```[^]*?^```$/gm, '');
    return (prose.match(/^.*\b\d+(?:\.\d+)?(?: ?ms| ?kB| ?MB| ?%| times)\b.*$/gm) ?? []).map((line) => ({ page, line }));
  });
  expect(figures.filter(({ page }) => !read(page).includes('bench/peers.md'))).toEqual([]);
});

test('each figure with decimals in their tables matches the latest measurement in the page of measurements', () => {
  const measured = read('bench/peers.md');
  const quoted = PAGES.flatMap((page) =>
    (part(page, 'Figures').match(/(?<=\| )\d+\.\d+(?= \|)/g) ?? []).map((figure) => ({ page, figure })),
  );
  expect(quoted.length).toBeGreaterThan(8);
  expect(quoted.filter(({ figure }) => !measured.includes(`**${figure}**`))).toEqual([]);
});
