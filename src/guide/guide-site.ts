import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { type FoundPage, GuideIndex } from './find-pages.ts';
import { GUIDE_FOLDER, type GuidePage, guidePages, pathOf } from './guide-pages.ts';
import { escapeHtml } from './html.ts';
import { renderMarkdown } from './markdown.ts';
import { STYLE } from './style.ts';

/** The pages load nothing but what this program serves, and run no code. */
export const GUIDE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The pages that a search lists. */
const LISTED = 20;
/** Characters of a section that a search shows. */
const SHOWN = 220;

const IMAGES: Readonly<Record<string, string>> = { svg: 'image/svg+xml', png: 'image/png' };

/** The guide of the package: its pages, a search over them, and answers to requests for both. */
export class GuideSite {
  readonly pages: readonly GuidePage[];
  #index: GuideIndex | undefined;
  readonly #folder: string;
  readonly #version: string;

  private constructor(pages: readonly GuidePage[], { folder, version }: { folder: string; version: string }) {
    this.pages = pages;
    this.#folder = folder;
    this.#version = version;
  }

  /** Reads the guide. `version` is that of the package, for links to its code. */
  static async open({ folder = GUIDE_FOLDER, version }: { folder?: string; version: string }): Promise<GuideSite> {
    return new GuideSite(await guidePages(folder), { folder, version });
  }

  /** Returns the pages that are about some words, the best one first. */
  find(words: string): FoundPage[] {
    this.#index ??= new GuideIndex(this.pages);
    return this.#index.find(words);
  }

  /** Answers a request of a browser. */
  async answer(request: Request): Promise<Response> {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return new Response('Only GET is answered\n', { status: 405, headers: { allow: 'GET, HEAD' } });
    const url = new URL(request.url);
    const path = decoded(url.pathname).slice(1);
    if (path === 'style.css') return new Response(STYLE, { headers: headersOf('text/css; charset=utf-8') });
    if (path === 'search') return this.#searchPage(url.searchParams.get('q') ?? '');
    const image = /^images\/([\w-]+)\.(svg|png)$/.exec(path);
    if (image !== null) return this.#image(path, IMAGES[image[2] ?? ''] ?? '');
    const markdown = this.pages.find(({ file }) => file === path);
    if (markdown !== undefined) return new Response(markdown.text, { headers: headersOf('text/markdown; charset=utf-8') });
    const page = this.pages.find((one) => one.path === path);
    if (page !== undefined) return this.#page(page);
    const wanted = this.pages.find((one) => one.path === `${path}/`);
    // Links in a page are relative to its folder, so that its path has to end like one.
    if (wanted !== undefined) return new Response(null, { status: 302, headers: { location: `/${wanted.path}` } });
    return this.#html('There is no such page', '<h1>There is no such page</h1>\n<p><a href="/">All pages</a></p>', 404);
  }

  #page(page: GuidePage): Response {
    const { html, headings } = renderMarkdown(page.text, (link) => this.#linkOf(page, link));
    const sections = headings.filter(({ level }) => level === 2);
    const contents =
      sections.length < 3
        ? ''
        : `<nav class="contents" aria-label="On this page"><ul>${sections.map(({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`).join('')}</ul></nav>`;
    return this.#html(page.title, html.replace('</h1>', `</h1>\n${contents}`));
  }

  /** Returns where a link of a page leads: to a page or an image of the guide, or to a file of the repository at this version. */
  #linkOf({ file }: GuidePage, link: string): string {
    if (/^[a-z]+:/i.test(link) || link.startsWith('#')) return link;
    const [path = '', anchor] = link.split('#');
    const end = anchor === undefined ? '' : `#${anchor}`;
    const target = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '');
    const pages = [target, `${target}/README.md`].filter((one) => this.pages.some((page) => page.file === one));
    if (pages[0] !== undefined) return `/${pathOf(pages[0])}${end}`;
    if (!target.startsWith('..') && /\.(?:svg|png)$/.test(target)) return `/${target}`;
    const inRepository = posix.normalize(posix.join('docs', target));
    return `https://github.com/longhaul-agents/longhaul/blob/v${this.#version}/${inRepository}${end}`;
  }

  #searchPage(query: string): Response {
    const found = this.find(query).slice(0, LISTED);
    const items = found.map(({ page, section }) => {
      const address = `/${page.path}${section.title === page.title ? '' : `#${section.id}`}`;
      const title = section.title === page.title ? page.title : `${page.title}: ${section.title}`;
      return `<li><a href="${escapeHtml(address)}">${escapeHtml(title)}</a><p>${escapeHtml(beginning(section.text))}</p></li>`;
    });
    const title = query === '' ? 'Search' : `Search: ${query}`;
    const list =
      items.length === 0
        ? `<p>${query === '' ? 'Write what you look for.' : 'No page has these words.'}</p>`
        : `<ol class="found">\n${items.join('\n')}\n</ol>`;
    return this.#html(title, `<h1>${escapeHtml(title)}</h1>\n${list}`, 200, query);
  }

  async #image(path: string, type: string): Promise<Response> {
    try {
      return new Response(new Uint8Array(await readFile(posix.join(this.#folder, path))), { headers: headersOf(type) });
    } catch {
      return new Response('There is no such image\n', { status: 404 });
    }
  }

  #html(title: string, content: string, status = 200, query = ''): Response {
    const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} | Longhaul ${escapeHtml(this.#version)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header>
<a class="home" href="/">Longhaul ${escapeHtml(this.#version)}</a>
<form action="/search" role="search"><input type="search" name="q" value="${escapeHtml(query)}" aria-label="Search the guide" placeholder="Search"><button>Search</button></form>
</header>
<main>
${content}
</main>
</body>
</html>
`;
    return new Response(page, { status, headers: headersOf('text/html; charset=utf-8') });
  }
}

function headersOf(type: string): Record<string, string> {
  return {
    'content-type': type,
    'content-security-policy': GUIDE_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  };
}

function beginning(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
