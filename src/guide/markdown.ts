/** A heading of a page. */
export interface Heading {
  level: number;
  /** Its anchor, as GitHub makes it. */
  id: string;
  text: string;
}

/** A page as HTML, and the headings in it. */
export interface RenderedPage {
  html: string;
  headings: Heading[];
}

/**
 * Returns the Markdown of a page as HTML: headings, paragraphs, lists, tables, quotes, code, links, images and the few tags that the pages
 * of the guide use. The text comes from the package, and is trusted. `linkOf` returns where a link or an image leads.
 */
export function renderMarkdown(text: string, linkOf: (link: string) => string): RenderedPage {
  const rendering = new Rendering(linkOf);
  return { html: rendering.blocks(text.split('\n')), headings: rendering.headings };
}

/** A heading, and the Markdown from it to the next one. */
export interface PageSection extends Heading {
  markdown: string;
}

/** Returns the sections of a page. Lines in code that look like headings do not count. */
export function sectionsOf(text: string): PageSection[] {
  const sections: (Heading & { lines: string[] })[] = [];
  const ids = new Set<string>();
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    const [, marks] = FENCE.exec(line) ?? [];
    if (fence === undefined && marks !== undefined) fence = marks;
    else if (fence !== undefined && marks?.startsWith(fence) === true) fence = undefined;
    const heading = fence === undefined ? HEADING.exec(line) : null;
    if (heading === null) sections.at(-1)?.lines.push(line);
    else sections.push({ level: heading[1]!.length, id: freeId(heading[2]!, ids), text: plainText(heading[2]!), lines: [] });
  }
  return sections.map(({ lines, ...section }) => ({ ...section, markdown: lines.join('\n') }));
}

const FENCE = /^ *(`{3,}|~{3,})(.*)$/;
const HEADING = /^(#{1,6}) +(.+?)(?: +#+)?$/;
const ITEM = /^( *)([-*+]|\d+[.)]) +(?=\S)/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *$/;
const TABLE_LINE = /^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;
/** Tags that pages are written with. */
const TAG = /<\/?(?:picture|source|img|p|br|sub|sup|kbd|details|summary|a|div|b|i|em|strong)\b(?:"[^"]*"|[^>"])*>/g;
const BLOCK_TAG = /^<\/?(?:picture|source|img|p|details|summary|div)\b/;

class Rendering {
  readonly headings: Heading[] = [];
  readonly #linkOf: (link: string) => string;
  readonly #ids = new Set<string>();

  constructor(linkOf: (link: string) => string) {
    this.#linkOf = linkOf;
  }

  blocks(lines: readonly string[], isTight = false): string {
    const parts: string[] = [];
    for (let at = 0; at < lines.length;) {
      const { html, next } = this.#block(lines, at, isTight);
      if (html !== '') parts.push(html);
      at = next;
    }
    return parts.join('\n');
  }

  #block(lines: readonly string[], at: number, isTight: boolean): Block {
    const line = lines[at] ?? '';
    if (line.trim() === '') return { html: '', next: at + 1 };
    if (line.trimStart().startsWith('<!--')) return { html: '', next: 1 + endOf(lines, at, (one) => one.includes('-->')) };
    const fence = FENCE.exec(line);
    if (fence !== null) return codeBlock(lines, at, fence);
    const heading = HEADING.exec(line);
    if (heading !== null) return { html: this.#heading(heading[1]!.length, heading[2]!), next: at + 1 };
    if (RULE.test(line)) return { html: '<hr>', next: at + 1 };
    if (line.startsWith('|') && TABLE_LINE.test(lines[at + 1] ?? '')) return this.#table(lines, at);
    if (/^ {0,3}>/.test(line)) return this.#quote(lines, at);
    if (ITEM.test(line)) return this.#list(lines, at);
    if (BLOCK_TAG.test(line)) {
      const next = endOf(lines, at, (one) => one.trim() === '');
      return { html: this.#tags(lines.slice(at, next).join('\n')), next };
    }
    return this.#paragraph(lines, at, isTight);
  }

  #heading(level: number, text: string): string {
    const id = freeId(text, this.#ids);
    const html = this.inline(text);
    this.headings.push({ level, id, text: plainText(text) });
    return `<h${level} id="${escapeHtml(id)}">${html}${level === 1 ? '' : ` <a class="anchor" href="#${escapeHtml(id)}" aria-label="Link to this section">#</a>`}</h${level}>`;
  }

  #table(lines: readonly string[], at: number): Block {
    const next = endOf(lines, at, (one) => !one.startsWith('|'));
    const [header = '', , ...rows] = lines.slice(at, next);
    const cells = (line: string, tag: 'th' | 'td'): string =>
      cellsOf(line)
        .map((cell) => `<${tag}${tag === 'th' ? ' scope="col"' : ''}>${this.inline(cell)}</${tag}>`)
        .join('');
    const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
    return {
      html: `<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead><tr>${cells(header, 'th')}</tr></thead>\n<tbody>\n${body}\n</tbody></table></div>`,
      next,
    };
  }

  #quote(lines: readonly string[], at: number): Block {
    const next = endOf(lines, at, (one) => !/^ {0,3}>/.test(one));
    const inner = lines.slice(at, next).map((one) => one.replace(/^ {0,3}> ?/, ''));
    return { html: `<blockquote>\n${this.blocks(inner)}\n</blockquote>`, next };
  }

  #list(lines: readonly string[], at: number): Block {
    const [, margin = '', mark = ''] = ITEM.exec(lines[at] ?? '') ?? [];
    const isOrdered = /\d/.test(mark);
    const items: string[][] = [];
    let next = at;
    let isLoose = false;
    for (; next < lines.length; next += 1) {
      const line = lines[next]!;
      const begins = ITEM.exec(line);
      const isNext = begins !== null && begins[1]!.length <= margin.length + 1 && /\d/.test(begins[2]!) === isOrdered;
      if (isNext && begins[1]!.length >= margin.length) {
        if (next > at && lines[next - 1]!.trim() === '') isLoose = true;
        items.push([line.slice(begins[0].length)]);
        continue;
      }
      const isInside = line.startsWith(' '.repeat(margin.length + 2)) || line.trim() === '';
      const isLazy = line.trim() !== '' && lines[next - 1]!.trim() !== '' && !startsBlock(line);
      if (!isInside && !isLazy) break;
      if (line.trim() !== '' && lines[next - 1]!.trim() === '') isLoose = true;
      items.at(-1)!.push(line.replace(new RegExp(`^ {0,${margin.length + mark.length + 1}}`), ''));
    }
    const tag = isOrdered ? 'ol' : 'ul';
    const first = Number.parseInt(mark, 10);
    const start = isOrdered && first !== 1 ? ` start="${first}"` : '';
    const html = items.map((item) => `<li>${this.blocks(item, !isLoose)}</li>`).join('\n');
    return { html: `<${tag}${start}>\n${html}\n</${tag}>`, next };
  }

  #paragraph(lines: readonly string[], at: number, isTight: boolean): Block {
    const next = endOf(lines, at, (one) => one.trim() === '' || startsBlock(one));
    const html = this.inline(
      lines
        .slice(at, next)
        .map((one) => one.trim())
        .join('\n'),
    );
    return { html: isTight ? html : `<p>${html}</p>`, next };
  }

  inline(text: string): string {
    const kept: string[] = [];
    const keep = (html: string): string => `\uE000${kept.push(html) - 1}\uE001`;
    const bare = text
      .replaceAll(/(`+)([^]*?[^`])\1(?!`)/g, (_, __, code: string) => keep(`<code>${escapeHtml(code.replace(/^ (.+) $/, '$1'))}</code>`))
      .replaceAll(/\\([!-/:-@[-`{-~])/g, (_, character: string) => keep(escapeHtml(character)))
      .replaceAll(/<(https?:[^>\s]+)>/g, (_, link: string) => keep(`<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`))
      .replaceAll(/<!--[^]*?-->/g, '')
      .replaceAll(TAG, (tag) => keep(this.#tags(tag)));
    const href = (link: string): string => escapeHtml(this.#linkOf(link.replaceAll('&amp;', '&')));
    const linked = escapeHtml(bare)
      .replaceAll(/!\[([^\]]*)\]\(([^()\s]+)\)/g, (_, alt: string, link: string) =>
        keep(`<img src="${href(link)}" alt="${alt}" loading="lazy">`),
      )
      .replaceAll(
        /\[([^\]]+)\]\(([^()\s]+)\)/g,
        (_, label: string, link: string) => `${keep(`<a href="${href(link)}">`)}${label}${keep('</a>')}`,
      )
      .replaceAll(/\*\*(\S(?:[^]*?\S)?)\*\*/g, '<strong>$1</strong>')
      .replaceAll(/(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?![\w*])/g, '<em>$1</em>');
    return restored(linked, kept);
  }

  #tags(html: string): string {
    return html.replaceAll(
      /\b(src|srcset|href)="([^"\s]+)"/g,
      (_, name: string, link: string) => `${name}="${escapeHtml(this.#linkOf(link))}"`,
    );
  }
}

/** A block as HTML, and the line after it. */
interface Block {
  html: string;
  next: number;
}

/** Returns the first line after `at` for which a condition holds, or the number of lines. */
function endOf(lines: readonly string[], at: number, isEnd: (line: string) => boolean): number {
  // The first line may also be the last, such as a comment that ends on the line where it begins.
  if (isEnd(lines[at] ?? '') && lines[at]!.includes('-->')) return at;
  for (let end = at + 1; end < lines.length; end += 1) if (isEnd(lines[end]!)) return end;
  return lines.length;
}

function codeBlock(lines: readonly string[], at: number, [, marks = '', info = '']: RegExpExecArray): Block {
  const margin = /^ */.exec(lines[at] ?? '')![0];
  const end = endOf(lines, at, (line) => line.trim().startsWith(marks) && line.trim().replaceAll(marks[0]!, '') === '');
  const code = lines.slice(at + 1, end).map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line.trimStart()));
  const [language = ''] = info.trim().split(/\s/);
  const label = language === '' ? '' : ` class="language-${escapeHtml(language)}"`;
  return { html: `<pre tabindex="0"><code${label}>${escapeHtml(`${code.join('\n')}\n`)}</code></pre>`, next: end + 1 };
}

function startsBlock(line: string): boolean {
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    ITEM.test(line) ||
    /^ {0,3}>/.test(line) ||
    line.startsWith('|') ||
    line.trimStart().startsWith('<!--')
  );
}

/** Returns the cells of a line of a table: `\|` is a bar in a cell, also in code. */
function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function restored(text: string, kept: readonly string[]): string {
  let rest = text;
  // Kept HTML may contain HTML that was kept earlier, such as code in the text of a link.
  while (rest.includes('\uE000')) rest = rest.replaceAll(/\uE000(\d+)\uE001/g, (_, index: string) => kept[Number(index)] ?? '');
  return rest;
}

/** Returns an anchor for a heading that no earlier heading has, and adds it to `taken`. */
function freeId(text: string, taken: Set<string>): string {
  const slug = anchorOf(text);
  let id = slug;
  for (let count = 1; taken.has(id); count += 1) id = `${slug}-${count}`;
  taken.add(id);
  return id;
}

/** Returns the anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\]\([^)]*\)/g, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** Returns a text without the marks of Markdown. */
export function plainText(markdown: string): string {
  return markdown
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(TAG, '')
    .replaceAll(/[`*]/g, '')
    .trim();
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for HTML, also for attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
