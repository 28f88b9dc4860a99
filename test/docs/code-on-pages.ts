import { readFileSync } from 'node:fs';

/** A whole file of the examples on a page: its path in a comment, and the fence after it. */
const SHOWN = /(<!-- (examples\/[\w./-]+) -->\n```\w+\n)[^]*?^(```)$/gm;

/** Returns the page with each example as its file has it now. Throws for a file that does not exist. */
export function withCode(page: string): string {
  return page.replaceAll(SHOWN, (_, begin: string, path: string, end: string) => `${begin}${codeOf(path)}${end}`);
}

/** The paths of the examples that a page shows whole. */
export function examplesOn(page: string): string[] {
  return [...page.matchAll(SHOWN)].map(([, , path = '']) => path);
}

function codeOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
