import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';

/**
 * Returns each link, anchor, image, script and style of a built site that leads nowhere, and each file that it has from a foreign host.
 * `above`: the page of all versions, to which each page leads.
 */
export function deadLinks(folder: string, base: string, above?: string): string[] {
  const pages = globSync('**/*.html', { cwd: folder }).toSorted();
  const texts = new Map(pages.map((page) => [page, readFileSync(`${folder}/${page}`, 'utf8')]));
  const anchors = new Map(
    [...texts].map(([page, text]) => [page, new Set([...text.matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id = '']) => decoded(id)))]),
  );
  const found = new Set<string>();
  for (const [page, text] of texts) {
    for (const [, tag = '', attributes = ''] of text.matchAll(/<(a|img|script|link|source|iframe)\b([^>]*)>/g)) {
      const [, link] = /\s(?:href|src)="([^"]*)"/.exec(attributes) ?? [];
      if (link === undefined) continue;
      const problem = problemOf(page, decoded(link), { tag, attributes });
      if (problem !== undefined) found.add(`${page}: ${problem}`);
    }
  }
  return [...found];

  function problemOf(page: string, link: string, { tag, attributes }: { tag: string; attributes: string }): string | undefined {
    if (/^(?:https?:)?\/\//.test(link)) {
      const isLoaded = tag !== 'a' && !/rel="(?:canonical|alternate|sitemap)"/.test(attributes);
      return isLoaded ? `"${link}" is loaded from a foreign host` : undefined;
    }
    if (/^(?:mailto:|data:)/.test(link)) return undefined;
    const [path = '', anchor] = link.split('#');
    const absolute = path === '' ? `${base}${page}` : path.startsWith('/') ? path : posix.join(`${base}${posix.dirname(page)}/`, path);
    if (absolute === above) return undefined;
    if (!absolute.startsWith(base)) return `"${link}" leads out of the site`;
    const file = fileOf(decodeURIComponent(absolute.slice(base.length)));
    if (file === undefined) return `"${link}" leads nowhere`;
    if (anchor === undefined || anchor === '' || !file.endsWith('.html')) return undefined;
    return anchors.get(file)?.has(decodeURIComponent(anchor)) === true ? undefined : `"${link}" has an anchor that is not there`;
  }

  function fileOf(path: string): string | undefined {
    const file = posix.normalize(path === '' || path.endsWith('/') ? `${path}index.html` : path);
    return existsSync(`${folder}/${file}`) && statSync(`${folder}/${file}`).isFile() ? file : undefined;
  }
}

function decoded(text: string): string {
  return text.replaceAll('&amp;', '&').replaceAll('&#38;', '&').replaceAll('&quot;', '"');
}
