import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memberOf, UsageError } from '../core/domain/errors.ts';
import { plainText } from './markdown.ts';

/** A page of the guide, as Markdown. */
export interface GuidePage {
  /** Its file in the folder of the guide: `concepts/runs.md`. */
  file: string;
  /** Its path in the site of the guide: `concepts/runs/`. Empty for the first page. */
  path: string;
  title: string;
  text: string;
}

/** The folder of the guide: `docs` next to `src` in a checkout, and next to `dist` in the package. */
export const GUIDE_FOLDER = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../docs/' : '../../../docs/', import.meta.url));

/** Reads all pages of the guide, in the order of their files. Throws a UsageError if there are none. */
export async function guidePages(folder = GUIDE_FOLDER): Promise<GuidePage[]> {
  const found = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    if (memberOf(error, 'code') === 'ENOENT') return [];
    throw error;
  });
  const files = found.map((file) => file.replaceAll('\\', '/'));
  const pages = files.filter((file) => file.endsWith('.md')).toSorted();
  if (pages.length === 0) throw new UsageError('This package has no guide: install it anew');
  return Promise.all(
    pages.map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      return { file, path: pathOf(file), title: plainText(/^# (.+)$/m.exec(text)?.[1] ?? file), text };
    }),
  );
}

/** Returns the path of a page in the site of the guide. */
export function pathOf(file: string): string {
  const path = file.replace(/(?:^|\/)README\.md$/, '').replace(/\.md$/, '');
  return path === '' ? '' : `${path}/`;
}
