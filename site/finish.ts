import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The policy of each page. The search is a WebAssembly module of the site itself. */
export const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; object-src 'none'; base-uri 'self'";

/** Moves scripts and styles that are inside of pages into files, because the policy of the pages allows only files of the site. */
export function finishSite(folder: string, base: string): void {
  mkdirSync(`${folder}/_inline`, { recursive: true });
  const styles = new Map<string, string>();
  const pages = globSync('**/*.html', { cwd: folder }).toSorted();
  const texts = new Map(pages.map((page) => [page, readFileSync(`${folder}/${page}`, 'utf8')]));
  for (const [page, text] of texts) {
    const moved = text
      .replaceAll(/<script((?:(?!\bsrc=)[^>])*)>([^]+?)<\/script>/g, (whole, attributes: string, code: string) => {
        if (/type="(?!module|text\/javascript)/.test(attributes)) return whole;
        return `<script${attributes} src="${base}_inline/${file(folder, code, 'js')}"></script>`;
      })
      // A wide table scrolls, which a keyboard must be able to do.
      .replaceAll('<table>', '<table tabindex="0">')
      .replaceAll(
        /<style([^>]*)>([^]*?)<\/style>/g,
        (_, __, code: string) => `<link rel="stylesheet" href="${base}_inline/${file(folder, code, 'css')}">`,
      )
      .replaceAll(
        /<([a-zA-Z][\w-]*)((?:\s+[\w:@.-]+(?:="[^"]*"|='[^']*')?)*?)\s+style="([^"]*)"([^>]*)>/g,
        (...[, tag = '', before = '', style = '', after = '']: string[]) => {
          const name = `s-${digest(style)}`;
          styles.set(name, style.replaceAll('&quot;', '"').replaceAll('&#34;', '"'));
          const rest = `${before}${after}`;
          return rest.includes(' class="') ? `<${tag}${rest.replace(' class="', ` class="${name} `)}>` : `<${tag} class="${name}"${rest}>`;
        },
      );
    texts.set(page, moved);
  }
  const css = [...styles]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, style]) => `.${name}{${style}}`)
    .join('\n');
  writeFileSync(`${folder}/_inline/styles.css`, css);
  const head = `<meta http-equiv="Content-Security-Policy" content="${POLICY}"><link rel="stylesheet" href="${base}_inline/styles.css">`;
  for (const [page, text] of texts)
    writeFileSync(
      `${folder}/${page}`,
      text.replace(/<meta charset="utf-8"\s*\/?>/i, (charset) => `${charset}${head}`),
    );
}

/** Writes a file that is named by its content, and returns its name. */
function file(folder: string, content: string, type: string): string {
  const name = `${digest(content)}.${type}`;
  writeFileSync(`${folder}/_inline/${name}`, content);
  return name;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10);
}
