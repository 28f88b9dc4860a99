import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';

/** A page of the site. */
export interface Page {
  /** Its path in the site, without slashes around it: `decisions/one-gate`. Empty for the first page. */
  slug: string;
  title: string;
  description: string;
  /** Markdown without the first heading. Links begin with the base of the site. */
  body: string;
  /** The file that it is made from, relative to the root. Absent: it is generated. */
  source?: string;
}

/** Where links of pages lead. */
export interface Target {
  /** The path of the site, such as `/next/`. */
  base: string;
  /** The repository at the commit or tag of the build: links to `src`, `examples` and `bench` lead there. */
  repository: string;
  ref: string;
}

/** The pages of `docs`, the images that they show, and what is wrong with their links. */
export interface GuidePages {
  pages: Page[];
  images: string[];
  problems: string[];
}

/** Reads `docs` as pages: the title is the first heading, links and images lead to where they are in the site. */
export function guidePages(root: string, target: Target): GuidePages {
  const images = new Set<string>();
  const problems: string[] = [];
  const titleOf = (file: string): string => (existsSync(`${root}/${file}`) ? titleIn(readFileSync(`${root}/${file}`, 'utf8')) : '');
  const pages = markdownFiles(root, 'docs').map((source) => {
    const text = readFileSync(`${root}/${source}`, 'utf8');
    const title = titleIn(text);
    if (title === '') problems.push(`${source}: there is no first heading`);
    const body = outsideCode(text.replace(/^# .+\n+/m, ''), (piece) =>
      piece
        .replaceAll(/<!--[^]*?-->\n?/g, '')
        // On GitHub a page is a file; here it has its title.
        .replaceAll(
          /(?<=\[)[\w-]+\.md(?=\]\(([^()\s#]+)\))/g,
          (name, link: string) => plain(titleOf(posix.join(posix.dirname(source), link))) || name,
        )
        .replaceAll(/(\]\()([^()\s]+)(\))/g, (_, open: string, link: string, close: string) => open + linkOf(link) + close)
        .replaceAll(/((?:src|srcset|href)=")([^"\s]+)(")/g, (_, open: string, link: string, close: string) => open + linkOf(link) + close),
    );
    return { slug: slugOf(source), title: plain(title), description: firstSentence(body), body, source };

    function linkOf(link: string): string {
      if (/^[a-z]+:/i.test(link)) return link;
      const [path = '', anchor] = link.split('#');
      // The first heading is the title of the page, whose anchor is another one.
      if (path === '') return link === `#${anchorOf(title)}` ? '#_top' : link;
      const file = posix.normalize(posix.join(posix.dirname(source), path));
      if (!existsSync(`${root}/${file}`)) problems.push(`${source}: "${link}" leads to no file`);
      const end = anchor === undefined ? '' : `#${anchor}`;
      if (/\.(?:png|svg|jpg|webp)$/.test(file)) {
        images.add(file);
        return `${target.base}${file.replace(/^docs\//, '')}`;
      }
      if (file.startsWith('docs/') && file.endsWith('.md')) {
        const isTop = anchor !== undefined && anchor === anchorOf(titleOf(file));
        return `${addressOf(slugOf(file), target)}${isTop ? '' : end}`;
      }
      const isFolder = existsSync(`${root}/${file}`) && statSync(`${root}/${file}`).isDirectory();
      if (isFolder && existsSync(`${root}/${file}/README.md`) && file.startsWith('docs'))
        return addressOf(slugOf(`${file}/README.md`), target);
      return `${target.repository}/${isFolder ? 'tree' : 'blob'}/${target.ref}/${file.replace(/\/$/, '')}${end}`;
    }
  });
  return { pages, images: [...images].toSorted(), problems };
}

function titleIn(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? '';
}

/** Returns the anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns the path of a page in the site. */
export function addressOf(slug: string, { base }: Target): string {
  return slug === '' ? base : `${base}${slug}/`;
}

/** Returns a text without the marks of Markdown. */
export function plain(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/<[^>]+>/g, '')
    .trim();
}

/** What explains or lists rather than tells how: its text counts less in the search. */
const LESS = /^(?:reference|decisions|upstream)\//;

/** Returns Markdown as a file of a page for Starlight. */
export function frontMattered({ slug, title, description, body }: Page, canonical: string): string {
  const head = [{ tag: 'link', attrs: { rel: 'canonical', href: canonical } }];
  return `---\n${yaml({ title, description, editUrl: false, head })}\n---\n\n${LESS.test(slug) ? `<div data-pagefind-weight="0.2">\n\n${body}\n\n</div>` : body}\n`;
}

/** JSON is YAML. */
function yaml(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join('\n');
}

function slugOf(source: string): string {
  return source
    .replace(/^docs\//, '')
    .replace(/(?:^|\/)README\.md$/, '')
    .replace(/\.md$/, '');
}

function markdownFiles(root: string, folder: string): string[] {
  return readdirSync(`${root}/${folder}`, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return markdownFiles(root, path);
      return entry.name.endsWith('.md') ? [path] : [];
    });
}

/** Changes the text between fences and inline code. */
function outsideCode(text: string, change: (piece: string) => string): string {
  const code: string[] = [];
  const bare = text.replaceAll(/^ *(```+|~~~+)[^]*?^ *\1 *$|`[^`\n]+`/gm, (piece) => `\uE000${code.push(piece) - 1}\uE000`);
  // A link may have code in its text, so that code is back only after the links are changed.
  return change(bare).replaceAll(/\uE000(\d+)\uE000/g, (_, index: string) => code[Number(index)]!);
}

function firstSentence(body: string): string {
  const paragraph = body.split(/\n\s*\n/).find((part) => /^[A-Z"`[]/.test(part.trim())) ?? '';
  const text = plain(paragraph.replaceAll('\n', ' '));
  const [sentence = ''] = /^.*?[.:?!](?= |$)/.exec(text) ?? [text];
  return sentence.slice(0, 200);
}
