import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { type FoundPage, GUIDE_FOLDER, GuideIndex, type GuidePage, guidePages, pathOf } from './find-pages.ts';
import { escapeHtml, renderMarkdown } from './markdown.ts';

/** The content security policy: pages load only what this program serves, and run no code. */
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

  /** Reads the guide. `version`: the package version, for links to its code. */
  static async open({ folder = GUIDE_FOLDER, version }: { folder?: string; version: string }): Promise<GuideSite> {
    return new GuideSite(await guidePages(folder), { folder, version });
  }

  /** Returns the pages that match some words, best match first. */
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

/** The style of the pages: readable at 390 pixels, light and dark. */
const STYLE = `:root {
  color-scheme: light dark;
  --text: light-dark(#1f2328, #e6edf3);
  --dim: light-dark(#57606a, #9da7b1);
  --page: light-dark(#fff, #0d1117);
  --code: light-dark(#f6f8fa, #161b22);
  --line: light-dark(#d0d7de, #30363d);
  --link: light-dark(#0550ae, #79c0ff);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; justify-content: space-between; padding: 12px 24px; border-bottom: 1px solid var(--line); }
header .home { color: inherit; font-weight: 600; text-decoration: none; }
form { display: flex; gap: 8px; }
input, button { min-height: 36px; padding: 0 12px; border: 1px solid var(--dim); border-radius: 6px; background: var(--page); color: inherit; font: inherit; }
input { width: min(60vw, 320px); }
main { max-width: 860px; margin: 0 auto; padding: 16px 24px 96px; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2em; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
a { color: var(--link); }
.anchor { color: var(--dim); text-decoration: none; }
code { padding: 2px 4px; border-radius: 4px; background: var(--code); font: 0.875em ui-monospace, monospace; }
pre { padding: 12px 16px; overflow-x: auto; border-radius: 6px; background: var(--code); overflow-wrap: normal; }
pre code { padding: 0; background: none; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: 6px 12px; border: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: normal; }
img { max-width: 100%; height: auto; background: #fff; }
blockquote { margin: 0; padding-left: 16px; border-left: 3px solid var(--line); color: var(--dim); }
.contents ul { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; list-style: none; font-size: 0.9em; }
.found p { margin: 4px 0 16px; color: var(--dim); }
`;
