import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const cwd = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${cwd}/${path}`, 'utf8');

test('each picture of the concepts is light and dark, and its text describes it, on the page as in the file', () => {
  const shown = globSync('docs/concepts/*.md', { cwd }).flatMap((page) =>
    [...read(page).matchAll(/!\[([^\]]+)\]\(\.\.\/images\/([\w-]+\.svg)\)/g)].map(([, text = '', file = '']) => ({ text, file })),
  );
  expect(shown).toHaveLength(6);
  for (const { text, file } of shown) {
    const picture = read(`docs/images/${file}`);
    expect(picture).toContain('prefers-color-scheme:dark');
    expect({ file, text }).toEqual({ file, text: /<title id="title">(.*?)<\/title>/.exec(picture)?.[1] });
    // No picture asks another host for anything.
    expect(picture.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|@import|url\((?!#)/);
  }
});
