import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

/** Serves a folder on loopback at the path `base`, as a server of static files does. `first`: the path of the page that `url` names. */
export async function serveSite({
  folder,
  base,
  first,
  port,
}: {
  folder: string;
  base: string;
  first: string;
  port: number;
}): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    const path = pathOf(request.url ?? '/');
    if (path === undefined) return void response.writeHead(400, { 'content-type': 'text/plain' }).end('No path');
    if (path === '/' && base !== '/') return void response.writeHead(302, { location: first }).end();
    const file = path.startsWith(base) ? join(folder, normalize(`/${path.slice(base.length)}`)) : '';
    const found = [file, `${file}/index.html`].find((one) => one !== '' && statSync(one, { throwIfNoEntry: false })?.isFile() === true);
    if (found === undefined) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found');
    response.writeHead(200, { 'content-type': TYPES[extname(found)] ?? 'application/octet-stream' }).end(readFileSync(found));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${taken}${first}`, close: () => server.close() };
}

/** Returns the path that a request names; undefined for one that no file can have. */
function pathOf(target: string): string | undefined {
  try {
    const path = decodeURIComponent(new URL(target, 'http://localhost').pathname);
    return path.includes('\0') ? undefined : path;
  } catch {
    return undefined;
  }
}
