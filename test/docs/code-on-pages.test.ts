import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { examplesOn, withCode } from './code-on-pages.ts';

const cwd = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${cwd}/${path}`, 'utf8');
const pages = globSync(['README.md', 'docs/**/*.md'], { cwd });

test('every example on a page is the file that runs', () => {
  const stale = pages.filter((page) => withCode(read(page)) !== read(page));
  expect(stale, 'run npm run docs').toEqual([]);
  expect(pages.flatMap((page) => examplesOn(read(page))).length).toBeGreaterThan(30);
});

test('code that was changed on a page, or is missing there, is rewritten from its file', () => {
  const page = read('docs/hooks.md');
  const [path = ''] = examplesOn(page);
  const changed = page.replace('amount: 50', 'amount: 60');
  expect(changed).not.toBe(page);
  expect(withCode(changed)).toBe(page);
  expect(withCode(`<!-- ${path} -->\n\`\`\`ts\n\`\`\`\n`)).toBe(`<!-- ${path} -->\n\`\`\`ts\n${read(path)}\`\`\`\n`);
  expect(() => withCode('<!-- examples/none.ts -->\n```ts\n```\n')).toThrow('no such file');
});

test('every recipe has its page, and the index of the cookbook names each with its question', () => {
  const recipes = globSync('examples/cookbook/*.ts', { cwd }).map((path) => path.replace(/^.*\/|\.ts$/g, ''));
  const index = read('docs/cookbook/README.md');
  for (const recipe of recipes) {
    const page = read(`docs/cookbook/${recipe}.md`);
    expect(examplesOn(page)).toContain(`examples/cookbook/${recipe}.ts`);
    expect(index).toContain(`(${recipe}.md)`);
  }
});
