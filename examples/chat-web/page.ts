import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Answers a request for a part of the pages; undefined for any other request. */
export type Pages = (request: Request) => Response | undefined;

const FOLDER = fileURLToPath(new URL('page/', import.meta.url));

/** Bundles the customer's page, at `/`, and the supervisor's page, at `/desk`. */
export async function bundledPages(): Promise<Pages> {
  const { outputFiles } = await build({
    entryPoints: [`${FOLDER}page.tsx`, `${FOLDER}desk.tsx`],
    outdir: FOLDER,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const html = readFileSync(`${FOLDER}page.html`, 'utf8');
  const files = new Map([
    ['/', { type: 'html', text: html }],
    ['/desk', { type: 'html', text: html.replace('/page.js', '/desk.js').replace('Chat with the clerk', 'Desk of the supervisor') }],
    ...outputFiles.map(({ path, text }) => [path.slice(FOLDER.length - 1), { type: 'javascript', text }] as const),
  ]);
  return ({ method, url }) => {
    const file = method === 'GET' ? files.get(new URL(url).pathname) : undefined;
    return file && new Response(file.text, { headers: { 'content-type': `text/${file.type}; charset=utf-8` } });
  };
}
