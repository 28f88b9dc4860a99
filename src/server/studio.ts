import { readFile } from 'node:fs/promises';
import { type Context, Hono } from 'hono';
import { withoutEnd } from '../core/domain/text.ts';
import { refuseOthers } from './auth/open-access.ts';

/** The path of the page, after the prefix of the service. */
export const STUDIO_PATH = '/studio';

/**
 * The page may only load its own files and call its own service: content from a model or a tool cannot reach another host.
 * Nothing is inline.
 */
export const STUDIO_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "require-trusted-types-for 'script'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The folder of the built page: next to `dist/src` in the package, and in `dist` in a checkout. Undefined in a bundled service, which
 * has no such files next to it, and whose format may have no `import.meta`.
 */
const FOLDER = builtPage(import.meta.url);

const NOT_BUILT =
  'Studio is not here: run "npm run build:studio" in a checkout, and leave "longhaul" out of the bundle of a service (external)\n';

function builtPage(url: string | undefined): URL | undefined {
  if (url === undefined) return undefined;
  return new URL(url.endsWith('.ts') ? '../../dist/studio/' : '../../studio/', url);
}

/** Which pages may load Studio from a service without authentication. */
export interface StudioAccess {
  /** The origins of pages that may call the service. Undefined: it has authentication, and anyone may load the page, which has no data. */
  openTo: { origins: readonly string[] } | undefined;
}

/** Returns routes for Studio's files: one page, and what it loads, under names that change with their content. */
export function studioFiles({ openTo }: StudioAccess): Hono<{ Bindings: { peer: string | undefined } }> {
  const files = new Hono<{ Bindings: { peer: string | undefined } }>();
  files.use('*', async (context, next) => {
    if (openTo !== undefined) refuseOthers(context.req.raw, { ...openTo, peer: context.env.peer });
    await next();
    context.res.headers.set('content-security-policy', STUDIO_POLICY);
    context.res.headers.set('referrer-policy', 'no-referrer');
    context.res.headers.set('cross-origin-opener-policy', 'same-origin');
  });
  const page = async (context: Context): Promise<Response> => {
    const html = await fileNamed('index.html');
    if (html === undefined) return context.text(NOT_BUILT, 503);
    // The page's path has no trailing slash, so the browser would resolve relative paths next to it.
    const base = withoutEnd(new URL(context.req.url).pathname, '/');
    return context.html(html.toString('utf8').replaceAll('./assets/', `${base}/assets/`));
  };
  files.get('/', page);
  files.get('/assets/:name', async (context) => {
    const { name } = context.req.param();
    const type = TYPES[name.split('.').at(-1) ?? ''];
    const file = /^[\w-]+(?:\.[\w-]+)*$/.test(name) && type !== undefined ? await fileNamed(`assets/${name}`) : undefined;
    if (file === undefined || type === undefined) return context.text('There is no such file\n', 404);
    return context.body(new Uint8Array(file), 200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' });
  });
  return files;
}

async function fileNamed(name: string): Promise<Buffer | undefined> {
  if (FOLDER === undefined) return undefined;
  try {
    return await readFile(new URL(name, FOLDER));
  } catch {
    return undefined;
  }
}
