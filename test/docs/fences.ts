import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A fenced piece of a page. */
export interface Fence {
  page: string;
  /** The line of the page where its text begins, from 1. */
  line: number;
  /** The text after the opening marks: `ts`, `sh`, or nothing. */
  language: string;
  text: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Returns every fence of the README, of `docs`, of `site` and of the package that begins projects, in their order. */
export function fencesOnPages(): Fence[] {
  const pages = globSync(['README.md', 'docs/**/*.md', 'site/*.md', 'create-longhaul/*.md'], { cwd: root }).toSorted();
  return pages.flatMap((page) => fencesIn(page, readFileSync(`${root}/${page}`, 'utf8')));
}

export function fencesIn(page: string, text: string): Fence[] {
  return [...text.matchAll(/^( *)```(\w*)[^\n]*\n([^]*?)^\1``` *$/gm)].map(({ index, 1: indent = '', 2: language = '', 3: body = '' }) => ({
    page,
    line: text.slice(0, index).split('\n').length + 1,
    language,
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
