import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Answers a request for a part of the page; undefined for any other request. */
export type Page = (request: Request) => Response | undefined;

const FOLDER = fileURLToPath(new URL('page/', import.meta.url));

/** Bundles the page. */
export async function bundledPage(): Promise<Page> {
  const { outputFiles } = await build({
    entryPoints: [`${FOLDER}page.tsx`],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const [script] = outputFiles;
  const html = readFileSync(`${FOLDER}page.html`, 'utf8');
  return ({ method, url }) => {
    const { pathname } = new URL(url);
    if (method !== 'GET') return undefined;
    if (pathname === '/') return new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } });
    if (pathname !== '/page.js') return undefined;
    return new Response(script?.text, { headers: { 'content-type': 'text/javascript; charset=utf-8' } });
  };
}
